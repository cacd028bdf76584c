"""A walltime that a run has used ends it: that is said with what is lost, and asks for more than a yes."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, PBS, ScriptedBackend
from tui.config.production_servers_and_server_list import Site
from tui.operations.by_target.walltime_run_suspend_comment_ops import set_walltime
from tui.operations.confirmation.confirmation_lines import operation_lines
from tui.operations.confirmation.typed_confirmation import asked_for
from tui.operations.operation_type_and_preview import Operation
from tui.operations.undo import keep_before, undo_of
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain


def cluster(backend: ScriptedBackend, **used: dict[str, str]) -> ClusterView:
    return see(
        backend.server_status, Settings(), Ledger(), 0.0, used={f"{job[1:]}.hpc1": use for job, use in used.items()}
    )


def said(operation: Operation, now: ClusterView) -> list[str]:
    return [plain(line) for line in operation_lines(operation, now)]


@pytest.mark.parametrize(
    ("walltime", "when"), [("10m", "at once"), ("30m", "at once"), ("34m", "in 0:04:00"), ("36m", ""), ("3h", "")]
)
def test_a_run_that_has_used_the_new_walltime_or_nearly_is_ended(walltime: str, when: str) -> None:
    # Jobs 11 and 12 have run for 30 minutes.
    now = cluster(ScriptedBackend())
    operation = set_walltime(now, PBS, ["11.hpc1"], walltime)
    assert operation.ends_work == bool(when)
    assert asked_for(operation, "hpc1", Site()) == ("11" if when else "")
    lines = said(operation, now)
    assert any("core-hours are lost" in line for line in lines) == bool(when)
    assert any(line.startswith("11 has run 0:30:00: ") and line.endswith(f"ends it {when}") for line in lines) == bool(
        when
    )


def test_of_several_only_the_runs_that_end_are_lost() -> None:
    backend = ScriptedBackend()
    backend.set_job("12.hpc1", stime=str(int(NOON_S - 60)))
    now = cluster(backend)
    operation = set_walltime(now, PBS, ["11.hpc1", "12.hpc1", "13.hpc1"], "20m")
    assert operation.ended == ("11.hpc1",)
    assert said(operation, now)[0] == "1 job · 1 user · 8 cores in use now · up to 4.0 core-hours are lost"


def test_what_a_run_brought_along_from_a_checkpoint_counts() -> None:
    now = cluster(ScriptedBackend(), j11={"resources_used.walltime": "01:00:00"})
    assert set_walltime(now, PBS, ["11.hpc1"], "45m").ends_work


def test_a_waiting_job_may_have_any_walltime() -> None:
    assert not set_walltime(cluster(ScriptedBackend()), PBS, ["13.hpc1"], "1m").ends_work


def test_the_undo_of_a_longer_walltime_ends_a_run_that_has_used_the_old_one() -> None:
    backend = ScriptedBackend()
    operation = set_walltime(cluster(backend), PBS, ["11.hpc1", "13.hpc1"], "+2h")
    kept = keep_before(operation, backend.server_status)
    for job in ("11.hpc1", "13.hpc1"):
        backend.set_job(job, **{"Resource_List.walltime": "04:00:00"})
    assert not undo_of(cluster(backend), operation, operation.changes, kept).ends_work
    backend.set_job("11.hpc1", stime=str(int(NOON_S - 3 * 3600)))
    now = cluster(backend)
    undo = undo_of(now, operation, operation.changes, kept)
    assert (undo.ends_work, undo.ended) == (True, ("11.hpc1",))
    assert "11 has run 3:00:00: a walltime of 2:00:00 ends it at once" in said(undo, now)
