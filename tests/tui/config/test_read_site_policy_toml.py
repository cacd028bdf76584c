"""The site's settings file: only a regular file is read, and each one that is not has its sentence."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from policy import SettingsError
from tests.tui.call_pbsteer_command import run
from tui.config import read_site_policy_toml
from tui.config.read_site_policy_toml import has_site_settings, read_settings


def sentence_on(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        read_settings(path)
    (problem,) = caught.value.problems
    return problem


def test_no_fifo_or_device_is_read(tmp_path: Path) -> None:
    fifo = tmp_path / "policy.toml"
    os.mkfifo(fifo)
    # Its end comes with its writer's, so that a reader does not wait for ever.
    writer = threading.Timer(5, os.close, [os.open(fifo, os.O_RDWR)])
    writer.daemon = True
    writer.start()
    for path in (fifo, Path("/dev/null")):
        assert sentence_on(path) == f"{path}: cannot be read: allowed is a regular file"
    result = run("check", str(fifo))
    assert (result.exit_code, "allowed is a regular file" in result.output) == (1, True)


def test_a_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    assert sentence_on(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"
    assert sentence_on(tmp_path / "none") == f"{tmp_path / 'none'}: cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("policy.toml", "a = " + "[" * 100_000, "not TOML: it is nested too deeply"),
        ("policy.json", "[" * 100_000, "not JSON: it is nested too deeply"),
        ("policy.json", '{"quota":' * 50_000, "not JSON: it is nested too deeply"),
        (
            "policy.json",
            '{"quota": {"delay_s": 1, "delay_s": 2}}',
            "not JSON: 'delay_s' is given twice; allowed is each key of a table once",
        ),
        ("policy.json", '{"quota": {"delay_s": NaN}}', "not JSON: NaN is no number; allowed are finite ones"),
    ],
)
def test_a_file_that_cannot_be_understood_is_named(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert sentence_on(path) == f"{path}: {says}"


def test_a_file_that_this_user_may_not_look_for_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_site_policy_toml, "DEFAULT_POLICY", tmp_path / "policy.toml")
    assert not has_site_settings()
    (tmp_path / "policy.toml").touch()
    assert has_site_settings()

    def refuse(_: Path, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    assert has_site_settings()
    assert sentence_on(tmp_path / "policy.toml").endswith("cannot be read: Permission denied")
