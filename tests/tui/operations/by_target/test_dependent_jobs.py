"""Jobs that depend on others: those that go with a deleted run are counted, those that wait for others stay held."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy import Ledger, Settings
from tests.tui.scripted_server import PBS, Attributes, a_job, a_server_status, changed
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.backends.torque.build_change_commands import TorqueCommands
from tui.operations.by_target import job_ops
from tui.operations.by_target.walltime_run_suspend_comment_ops import set_walltime
from tui.operations.confirmation.confirmation_lines import operation_lines
from tui.operations.operation_type_and_preview import Operation
from tui.operations.status_edits_for_preview import edit_jobs
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain

TORQUE = TorqueCommands(Path("/etc/pbsteer/policy.toml"))


def cluster(status: ServerStatus) -> ClusterView:
    return see(status, Settings(), Ledger(), 0.0)


def with_dependents(kinds: dict[str, str], holds: str = "s") -> ServerStatus:
    """The usual cluster with eve's jobs 30, 31, ... with the ``depend`` given for each, as PBS writes it."""
    status = a_server_status()
    texts: dict[str, Attributes] = {
        f"{job}.hpc1": a_job("eve", 4, "H", Hold_Types=holds, depend=depend) for job, depend in kinds.items()
    }
    return changed(status, jobs={**status.jobs, **texts})


def named(*ids: int) -> str:
    return ":".join(f"{number}.hpc1@hpc1" for number in ids)


def said(operation: Operation, now: ClusterView) -> list[str]:
    return [plain(line) for line in operation_lines(operation, now)]


def chain(parent: str, kind: str) -> ServerStatus:
    """Jobs 30 and 31 depend on the parent, 32 depends on 30 by afterany."""
    parts = {"30": f"{kind}:{parent}.hpc1@hpc1,beforeany:{named(32)}", "31": f"{kind}:{parent}.hpc1@hpc1"}
    status = with_dependents({**parts, "32": f"afterany:{named(30)}"})
    return edit_jobs(status, [f"{parent}.hpc1"], {"depend": f"{kind.replace('after', 'before')}:{named(30, 31)}"})


def test_with_a_deleted_run_go_those_that_were_to_follow_its_success_and_all_that_depend_on_these() -> None:
    now = cluster(chain("11", "afterok"))
    lines = said(job_ops.delete(now, PBS, ["11.hpc1"]), now)
    assert lines[0] == "4 jobs · 2 users · 8 cores in use now · up to 4.0 core-hours are lost"
    assert [line.split()[0] for line in lines[1:5]] == ["11", "30", "31", "32"]
    assert "3 jobs depend on that and are deleted too: 30 31 32" in lines


def test_with_a_run_that_another_walltime_ends_go_the_same() -> None:
    now = cluster(chain("11", "afterok"))
    operation = set_walltime(now, PBS, ["11.hpc1"], "10m")
    assert operation.ended == ("11.hpc1", "30.hpc1", "31.hpc1", "32.hpc1")
    assert "3 jobs depend on that and are deleted too: 30 31 32" in said(operation, now)


@pytest.mark.parametrize("kind", ["afterany", "afternotok"])
def test_those_that_follow_any_end_or_a_failure_are_not_deleted_with_a_run(kind: str) -> None:
    now = cluster(chain("11", kind))
    operation = job_ops.delete(now, PBS, ["11.hpc1"])
    assert (operation.ended, operation.notes) == (("11.hpc1",), ())


@pytest.mark.parametrize("kind", ["after", "afterok", "afternotok", "afterany"])
def test_those_that_depend_on_a_job_that_never_ran_stay_held(kind: str) -> None:
    now = cluster(chain("13", kind))
    operation = job_ops.delete(now, PBS, ["13.hpc1"])
    assert operation.ended == ("13.hpc1",)
    assert "2 jobs depend on that and stay held until released: 30 31" in said(operation, now)


def test_torque_deletes_those_of_a_job_that_never_ran() -> None:
    assert len(job_ops.delete(cluster(chain("13", "afterok")), TORQUE, ["13.hpc1"]).ended) == 4


def test_what_is_deleted_anyway_is_named_once_and_circles_end() -> None:
    status = with_dependents({"30": f"afterok:{named(11)},beforeok:{named(31)}", "31": f"beforeok:{named(30)}"})
    now = cluster(edit_jobs(status, ["11.hpc1"], {"depend": f"beforeok:{named(30, 99)}"}))
    operation = job_ops.delete(now, PBS, ["11.hpc1", "31.hpc1"])
    assert sorted(operation.ended) == ["11.hpc1", "30.hpc1", "31.hpc1"]
    assert "1 job depends on that and is deleted too: 30" in said(operation, now)


@pytest.mark.parametrize("commands", [PBS, TORQUE])
def test_a_release_leaves_the_hold_by_which_a_job_waits_for_others(commands: Commands) -> None:
    now = cluster(with_dependents({"30": f"afterok:{named(11)}"}, holds="su"))
    operation = job_ops.release(now, commands, ["30.hpc1"])
    assert operation.changes[0].argv == ("qrls", "-h", "u", "30.hpc1")
    assert (operation.changes[0].before, operation.changes[0].after) == ("su", "s")
    undo = operation.changes[0].undo()
    assert undo is not None
    assert undo.argv == ("qhold", "-h", "u", "30.hpc1")
    assert "30 stays held: it waits for another job (afterok 11)" in said(operation, now)
    after = operation.edit(now.server_status).jobs["30.hpc1"]
    assert (after["job_state"], after["Hold_Types"]) == ("H", "s")


@pytest.mark.parametrize(
    "depend", [f"afterok:{named(11)}", "on:2", "afterany:7.far@far", f"runone:{named(11)}", f"afterok:{named(99, 11)}"]
)
def test_a_job_that_waits_for_others_alone_is_not_released(depend: str) -> None:
    now = cluster(with_dependents({"30": depend}))
    with pytest.raises(ChangeError, match="30 waits for another job"):
        job_ops.release(now, PBS, ["30.hpc1"])


@pytest.mark.parametrize("depend", ["", f"afterok:{named(99)}", f"beforeok:{named(11)}"])
def test_a_hold_that_nothing_takes_off_any_more_is_released(depend: str) -> None:
    now = cluster(with_dependents({"30": depend}))
    (change,) = job_ops.release(now, PBS, ["30.hpc1"]).changes
    assert (change.argv, change.after) == (("qrls", "-h", "s", "30.hpc1"), "n")
