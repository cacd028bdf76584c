"""One section of the hooks' settings, as the hooks on hosts read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.store.hook_settings import show_config
from hooks.store.settings_for_host_hooks import read_section
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import CheckpointSettings, Settings

SAVING = Settings(checkpoint=CheckpointSettings(method="signal", grace_s=90))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), {}),
        (Settings(schedule=ScheduleSettings(interval_s=7)), {}),
        (SAVING, {"method": "signal", "grace_s": 90}),
    ],
    ids=["as installed", "another section", "this section"],
)
def test_a_section_is_what_was_applied(tmp_path: Path, settings: Settings, expected: dict[str, object]) -> None:
    path = tmp_path / "config.json"
    path.write_text(show_config(settings), encoding="utf-8")
    assert read_section(str(path), "checkpoint") == expected


def test_no_file_is_no_section() -> None:
    assert read_section(None, "checkpoint") == {}


@pytest.mark.parametrize("length", range(len(show_config(SAVING).rstrip())))
def test_a_file_that_was_cut_off_is_an_error(tmp_path: Path, length: int) -> None:
    path = tmp_path / "config.json"
    path.write_text(show_config(SAVING)[:length], encoding="utf-8")
    with pytest.raises(ValueError, match=r"\w"):
        read_section(str(path), "checkpoint")


def test_a_section_that_is_no_table_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"checkpoint": 5}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="checkpoint is no table"):
        read_section(str(path), "checkpoint")
