"""One figure of idle cores: where a job has vnodes to itself, the lines beside a reason say what the reason says."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings, decide
from policy.explain.queue_position import InLine
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from tests.policy.clusters import cluster, job, queue, run, vnode
from tui.state.cores_idle_and_coming_free import free_by_quarter, idle_cores

SETTINGS = Settings()


@pytest.mark.parametrize("sharing", ["", "default_excl"])
def test_a_vnode_that_a_job_has_to_itself_has_no_idle_core_and_gives_back_all(sharing: str) -> None:
    place = "" if sharing else "excl"
    alone = run("1", "alice", "v1=1 v2=1", 0, 1200, place=place)
    snapshot = cluster([vnode(name, 8, sharing=sharing) for name in ("v1", "v2")], [job("9", "bob", "4")], [alone])
    plan = decide(snapshot, Ledger(), SETTINGS)
    (waits,) = plan.waits
    told = waits.reason.sentence(waits.jobs[0], snapshot.time_s, InLine(plan, SETTINGS).numbers("9"))
    assert "needs 4 cores, 0 are idle" in told
    assert idle_cores(plan.started) == idle_cores(plan.started, "workq") == 0
    assert list(free_by_quarter(plan.started))[:3] == [0, 16, 16]


def test_a_run_without_an_end_gives_back_nothing() -> None:
    snapshot = cluster([vnode("v1", 8)], [], [run("1", "alice", "v1=6", 0, UNLIMITED_S)])
    assert set(free_by_quarter(snapshot)) == {0}


def test_shared_vnodes_give_back_what_a_run_holds_and_other_queues_vnodes_do_not_count() -> None:
    vnodes = [vnode("v1", 8), vnode("v2", 8, queue="gpu")]
    runs = [run("1", "alice", "v1=6", 0, 600), run("2", "alice", "v2=8", 0, 600, queue_name="gpu")]
    snapshot = cluster(vnodes, [job("9", "bob", "4")], runs, queues=[queue(), queue(name="gpu")])
    plan = decide(snapshot, Ledger(), SETTINGS)
    assert (idle_cores(plan.started, "workq"), idle_cores(plan.started)) == (2, 2)
    assert (free_by_quarter(plan.started, "workq")[0], free_by_quarter(plan.started)[0]) == (6, 14)
