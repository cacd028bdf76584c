"""The stop of migrating jobs: by whom, which jobs are left out and why, and what it says beforehand."""

from __future__ import annotations

import pytest

from migration.passes.source.notes_on_other_clusters import Notes
from policy import Ledger, Settings
from tests.tui.files_of_migrating_jobs import AT_B, ENDED, GUEST, IN_PLACE, ON_THE_WAY, WAITING, a_record
from tests.tui.scripted_server import NOON_S, a_server_status
from tui.backends.interface.commands_interface import ChangeError
from tui.model.migrating_jobs import Migration
from tui.operations.by_target.migrating_job_stop_ops import BRING_BACK, DISCARD, stop_jobs
from tui.operations.operation_type_and_preview import Operation
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain

FALLEN_BACK = a_record("a.8", "Requested", fallback="13.hpc1")
JOBS = {record.gid: record for record in (AT_B, ON_THE_WAY, WAITING, IN_PLACE, GUEST, ENDED, FALLEN_BACK)}
_NONE = "has no cluster yet: it ends as Stopped in the next pass"
MIGRATION = Migration("a", ("b", "c"), JOBS, Notes(), NOON_S)


@pytest.fixture(scope="module")
def cluster() -> ClusterView:
    return see(a_server_status(), Settings(), Ledger(), 0.0)


def stop(cluster: ClusterView, *gids: str, results: str = BRING_BACK, user: str = "root") -> Operation:
    return stop_jobs(cluster, MIGRATION, gids, results, user)


def test_each_job_is_one_mgstop(cluster: ClusterView) -> None:
    operation = stop(cluster, "a.1", "a.2", "a.1")
    assert [change.line for change in operation.changes] == ["mgstop a.1", "mgstop a.2"]
    assert operation.title == "stop 2 migrating jobs"
    assert operation.ends_work
    assert [change.line for change in stop(cluster, "a.1", results=DISCARD).changes] == ["mgstop --discard a.1"]


@pytest.mark.parametrize(
    ("gid", "user", "why"),
    [
        ("a.77", "root", "mgstop: 'a.77' is no migrating job here"),
        ("b.7", "root", "mgstop: b.7 is a job of cluster b: it is stopped there"),
        ("a.6", "root", "mgstop: a.6 is End already"),
        ("a.1", "bob", "mgstop: a.1 is a job of alice; beside alice only root may stop it"),
    ],
)
def test_who_may_not_and_what_cannot_be_stopped(cluster: ClusterView, gid: str, user: str, why: str) -> None:
    with pytest.raises(ChangeError) as error:
        stop(cluster, gid, user=user)
    assert str(error.value) == why


def test_results_come_back_or_are_discarded(cluster: ClusterView) -> None:
    with pytest.raises(ChangeError, match="results 'keep': allowed is bring-back, discard"):
        stop(cluster, "a.1", results="keep")


@pytest.mark.parametrize(
    ("gid", "results", "said"),
    [
        (
            "a.1",
            BRING_BACK,
            f"a.1: its job 8123 at b is deleted, and what there is comes back into {AT_B.dir}",
        ),
        ("a.2", DISCARD, "a.2: it ends at b, and nothing comes back"),
        ("a.3", BRING_BACK, f"a.3 {_NONE}"),
        ("a.5", BRING_BACK, "a.5 is job 12.hpc1 here, in its own folder: it is deleted"),
        (
            "a.8",
            BRING_BACK,
            f"a.8 {_NONE}; job 13.hpc1 here is deleted too",
        ),
    ],
)
def test_what_a_stop_does_is_said_beforehand(cluster: ClusterView, gid: str, results: str, said: str) -> None:
    assert [plain(line) for line in stop(cluster, gid, results=results).notes] == [said]


def test_the_preview_is_without_the_jobs_of_this_cluster_that_end(cluster: ClusterView) -> None:
    before = a_server_status()
    assert set(before.jobs) - set(stop(cluster, "a.5", "a.8", "a.1").edit(before).jobs) == {"12.hpc1", "13.hpc1"}
    assert stop(cluster, "a.1").edit(before) is before
