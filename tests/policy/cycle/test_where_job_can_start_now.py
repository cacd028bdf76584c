"""Where a job starts so that others keep what was promised to them."""

from __future__ import annotations

from tests.policy.clusters import cluster, job, plan_for, queue, run, starts, vnode


def test_a_job_that_leaves_the_head_its_vnode_moves_to_another() -> None:
    """By size 4 would go to v2, which the head needs whole at 100; it goes to v1 instead."""
    snapshot = cluster(
        [vnode("v1", 9), vnode("v2", 4)],
        [job("3", "bob", "1:ncpus=4:vnode=v2"), job("4", "carol", "2", 1000)],
        [run("1", "alice", "v2=1", 0, 100)],
    )
    assert starts(plan_for(snapshot)) == {"4": "(v1:ncpus=1)+(v1:ncpus=1)"}


def test_a_job_with_a_better_claim_starts_where_the_head_loses_nothing() -> None:
    """bob, within quota, would go to v2, which alice's job 3 needs whole at 100 and is over quota by: v1 does as well,
    so the head keeps its time."""
    snapshot = cluster(
        [vnode("v1", 9), vnode("v2", 4)],
        [job("3", "alice", "1:ncpus=4:vnode=v2"), job("4", "bob", "2", 1000)],
        [run("1", "alice", "v2=1", 0, 100)],
        queues=[queue("[u:alice=1],[u:bob=4]")],
    )
    plan = plan_for(snapshot)
    assert starts(plan) == {"4": "(v1:ncpus=1)+(v1:ncpus=1)"}
    assert plan.ledger.promises == {"3": 100}
    assert plan.moved == ()
