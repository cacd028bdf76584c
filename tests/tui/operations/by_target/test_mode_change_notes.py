"""The preview of a change of mode: obstacles are those of the next passes, not those that the change itself ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from policy import Ledger, Settings
from tests.tui.scripted_server import a_server_status, changed
from tui.operations.by_target.mode_change_notes import mode_lines
from tui.state.cluster_view import see
from tui.text.screen_line import plain

BY_PRIORITY = 'job_sort_key: "job_priority HIGH" ALL\n'
ON_AGAIN = "scheduler default is switched on again by the next pass"


def from_drive_to_advise(tmp_path: Path, sched_config: str, state: str = "idle") -> list[str]:
    """The lines for a queue whose scheduler pbsteer has switched off."""
    (tmp_path / "sched_config").write_text(sched_config)
    sched = {"scheduling": "False", "partition": "pbs-default", "state": state, "sched_priv": str(tmp_path)}
    scripted = a_server_status()
    status = changed(scripted, queues={"workq": scripted.queues["workq"]}, scheds={"default": sched})
    after = changed(status, queues={"workq": {**status.queues["workq"], MODE_ATTRIBUTE: "advise"}})
    cluster = see(status, Settings(), Ledger(), 0.1)
    return [plain(line) for line in mode_lines(cluster, after, ["workq"], "advise")]


@pytest.mark.parametrize(
    ("sched_config", "obstacle"),
    [(BY_PRIORITY, ""), ("by_queue: False ALL\n", "scheduler default does not sort jobs by priority")],
)
def test_a_scheduler_that_is_switched_on_again_is_no_obstacle_but_its_order_may_be(
    tmp_path: Path, sched_config: str, obstacle: str
) -> None:
    lines = from_drive_to_advise(tmp_path, sched_config)
    assert ON_AGAIN in lines
    found = [line for line in lines if line.startswith("obstacle, ")]
    assert len(found) == bool(obstacle)
    assert all(line.startswith(f"obstacle, queue workq: {obstacle}") for line in found)


def test_a_scheduler_that_does_not_run_is_an_obstacle(tmp_path: Path) -> None:
    lines = from_drive_to_advise(tmp_path, BY_PRIORITY, "down")
    assert "obstacle, queue workq: scheduler default does not run, or is switched off" in lines
