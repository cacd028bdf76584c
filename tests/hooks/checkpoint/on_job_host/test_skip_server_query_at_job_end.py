"""What a job's host can tell by itself of an end: whether the server has to be asked about it."""

from __future__ import annotations

import json
import types
from pathlib import Path

import pytest

from hooks.checkpoint.on_job_host.skip_server_query_at_job_end import may_have_been_asked
from hooks.checkpoint.save_method.copy_queue_save_method_to_job import find_method_to_write
from hooks.checkpoint.save_method.read_save_method_job_asked_for import REQUEUE
from hooks.pbs.custom_resources_on_hosts import SAVE
from hooks.store.hook_settings import read_config, show_config
from policy.model.save_method_names import SAVED_STATUS
from policy.settings.site_settings import CheckpointSettings, Settings

SAVED = 99


def job(wish: str | None) -> types.SimpleNamespace:
    return types.SimpleNamespace(Resource_List={SAVE: wish})


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "hook.CF"
    path.write_text(show_config(Settings(checkpoint=CheckpointSettings(exit_status=SAVED))))
    return path


@pytest.mark.parametrize(
    ("wish", "status", "is_asked"),
    [
        (None, 0, False),
        (None, 1, False),
        (None, SAVED, True),
        (None, 128 + 12, True),
        (None, 256 + 12, True),
        ("nonsense", 0, False),
        ("signal", 0, True),
        ("checkpoint", 0, True),
        ("requeue", SAVED, False),
    ],
)
def test_only_of_one_that_may_have_been_asked(config: Path, wish: str | None, status: int, is_asked: bool) -> None:
    assert may_have_been_asked(job(wish), status, str(config)) is is_asked


def test_the_set_method_is_that_of_who_does_not_say(config: Path) -> None:
    config.write_text(show_config(Settings(checkpoint=CheckpointSettings(method="signal"))))
    assert may_have_been_asked(job(None), 0, str(config))
    assert not may_have_been_asked(job("requeue"), 0, str(config))


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "[]",
        "7",
        "\udcff",
        json.dumps({"checkpoint": 3}),
        json.dumps({"checkpoint": {"method": "x"}}),
    ],
)
def test_settings_that_cannot_be_read_are_a_reason_to_ask(config: Path, text: str | None) -> None:
    config.unlink()
    if text is not None:
        config.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert may_have_been_asked(job(None), 0, str(config))


@pytest.mark.parametrize("config", [None, "{}"])
@pytest.mark.parametrize("status", [0, SAVED_STATUS])
def test_what_the_settings_do_not_say_is_as_they_have_it_by_default(
    tmp_path: Path, config: str | None, status: int
) -> None:
    path = tmp_path / "hook.CF"
    path.write_text(config or "")
    assert may_have_been_asked(job(None), status, str(path) if config else None) is (status == SAVED_STATUS)
    assert read_config(None).checkpoint == CheckpointSettings(method=REQUEUE, exit_status=SAVED_STATUS)


@pytest.mark.parametrize(
    ("wish", "of_queue", "method", "told"),
    [
        ("", "signal", "requeue", "signal"),
        ("", "checkpoint", "requeue", "checkpoint"),
        ("requeue", "signal", "requeue", ""),
        ("", "signal", "signal", ""),
        ("", "requeue", "requeue", ""),
        ("", "nonsense", "requeue", ""),
    ],
)
def test_a_start_tells_what_the_host_could_not_know(wish: str, of_queue: str, method: str, told: str) -> None:
    assert find_method_to_write(wish, of_queue, method) == told
