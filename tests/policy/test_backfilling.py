"""Starts behind a head; the golden stories tell the rules one by one."""

from __future__ import annotations

from policy import Changes
from tests.policy.clusters import cluster, codes, job, plan_for, run, started, vnode


def test_backfilled_runs_are_remembered_until_they_end() -> None:
    snapshot = cluster(
        [vnode("v1")], [job("3", select="4"), job("4", select="1", estimate_s=50)], [run("1", "a", "v1=3")]
    )
    plan = plan_for(snapshot)
    assert plan.ledger.backfilled.keys() == {"4"}
    assert plan_for(plan.started, None, plan.ledger).ledger.backfilled.keys() == {"4"}
    ended = plan.started.apply(Changes(60, gone=["4"]))
    assert plan_for(ended, None, plan.ledger).ledger.backfilled == {}


def test_a_job_that_nothing_fits_beside_says_by_how_much_it_is_too_wide() -> None:
    """v1 has 3 of 8 cores idle and 2 to spare beside the head, which starts at 100: 4 is too long for 3 of them."""
    waiting = [job("3", select="6"), job("4", select="3", estimate_s=200), job("5", select="2", estimate_s=200)]
    plan = plan_for(cluster([vnode("v1", 8)], waiting, [run("1", "a", "v1=5", 0, 100)]))
    assert codes(plan) == {"3": "reserved", "4": "backfill-window"}
    assert started(plan) == ["5"]
