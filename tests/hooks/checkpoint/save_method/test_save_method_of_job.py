"""By which method a job saves: its own, else its queue's, else that of the settings, as far as PBS allows it."""

from __future__ import annotations

import pytest

from hooks.checkpoint.save_method.save_method_of_job import find_method, read_methods
from policy.settings.site_settings import CheckpointSettings, Settings
from tests.hooks.sample_server_statuses import queue, running, server_status


@pytest.mark.parametrize(
    ("wish", "of_queue", "site", "method"),
    [
        ("", "", "requeue", "requeue"),
        ("", "", "signal", "signal"),
        ("", "checkpoint", "signal", "checkpoint"),
        ("requeue", "checkpoint", "signal", "requeue"),
        ("signal", "requeue", "requeue", "signal"),
        ("nonsense", "signal", "requeue", "signal"),
        ("", "nonsense", "signal", "signal"),
    ],
)
def test_the_job_says_else_its_queue_else_the_settings(wish: str, of_queue: str, site: str, method: str) -> None:
    problems: list[str] = []
    seen = server_status(queues={"workq": {**queue(), "resources_available.pbsteer_save": of_queue}})
    methods = read_methods(seen, Settings(checkpoint=CheckpointSettings(method=site)), problems.append)
    assert find_method("1.s", running() | {"Resource_List.pbsteer_save": wish}, methods, 60) == method
    assert [("pbsteer_save" in problem, "'nonsense'" in problem) for problem in problems] == (
        [(True, True)] if of_queue == "nonsense" else []
    )


def test_a_job_that_forbids_checkpoints_is_requeued() -> None:
    assert find_method("1.s", running(Checkpoint="n"), {"workq": "signal"}, 60) == "requeue"


@pytest.mark.parametrize("job_id", ["8[2].s", "8[].s"])
def test_subjobs_are_signalled_but_not_checkpointed(job_id: str) -> None:
    assert find_method(job_id, running(), {"workq": "signal"}, 60) == "signal"
    assert find_method(job_id, running(), {"workq": "checkpoint"}, 60) == "requeue"


def test_a_restarted_job_of_which_no_mom_tells_is_signalled() -> None:
    """PBS leaves it in substate 41, and then only sets the hold."""
    restarted = running(substate="41")
    assert find_method("1.s", restarted, {"workq": "checkpoint"}, 3600) == "signal"
    assert find_method("1.s", restarted, {"workq": "requeue"}, 3600) == "requeue"
    assert find_method("1.s", running(substate="42"), {"workq": "checkpoint"}, 3600) == "checkpoint"
