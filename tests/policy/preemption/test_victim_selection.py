"""Which of the runs that rule A offers go; the golden stories tell the orders one by one."""

from __future__ import annotations

import pytest

from policy.settings.site_settings import VICTIM_ORDERS
from tests.policy.clusters import cluster, codes, job, plan_for, queue, quota_settings, run, victims, vnode

orders = pytest.mark.parametrize("order", VICTIM_ORDERS)


@orders
def test_whatever_the_order_the_floor_holds(order: str) -> None:
    """alice (quota 5) runs 4 + 3 + 2: only the 4, or the 3, or the 2 may go; bob needs 5 and gets nothing."""
    runs = [run("1", "alice", "v1=4", 0), run("2", "alice", "v1=3", 1), run("3", "alice", "v1=2", 2)]
    snapshot = cluster([vnode("v1", 9)], [job("9", "bob", "5")], runs, queues=[queue("[u:alice=5],[u:bob=9]")])
    assert victims(plan_for(snapshot, quota_settings(victim_order=order))) == {}


@orders
def test_idle_cores_are_used_before_victims(order: str) -> None:
    """Two cores are idle and bob needs three: a run of one core is enough, and larger ones stay."""
    runs = [run("1", "alice", "v1=1", 0)]
    snapshot = cluster([vnode("v1", 3)], [job("9", "bob", "3")], runs, queues=[queue("[u:alice=0],[u:bob=3]")])
    plan = plan_for(snapshot, quota_settings(victim_order=order))
    assert victims(plan) == {"1": "9"}
    assert plan.ledger.earmarks["9"].allocation.cores == 3


@orders
def test_every_job_in_turn_may_preempt_but_nobody_twice(order: str) -> None:
    runs = [run("1", "alice", "v1=2", 0), run("2", "alice", "v1=2", 1), run("3", "alice", "v1=2", 2)]
    waiting = [job("7", "bob", "2"), job("8", "carol", "2"), job("9", "dave", "2")]
    text = "[u:alice=2],[u:PBS_GENERIC=2]"
    plan = plan_for(cluster([vnode("v1", 6)], waiting, runs, queues=[queue(text)]), quota_settings(victim_order=order))
    assert sorted(victims(plan).values()) == ["7", "8"]
    assert codes(plan)["9"] == "reserved"


def test_runs_the_wishes_rule_out_are_not_walked() -> None:
    """The newer run is on v1; bob wants v2. Walking v1's run first would use up what alice may lose."""
    snapshot = cluster(
        [vnode("v1", 2), vnode("v2", 2)],
        [job("3", "bob", "2:ncpus=1:vnode=v2")],
        [run("1", "alice", "v1=2", 5), run("2", "alice", "v2=2", 0)],
        queues=[queue("[u:alice=2],[u:bob=4]")],
    )
    assert victims(plan_for(snapshot, quota_settings(victim_order="newest"))) == {"2": "3"}


@orders
def test_runs_that_do_not_help_leave_their_owner_s_surplus_to_those_that_do(order: str) -> None:
    """alice (quota 4) runs 4 cores with a GPU on v1 and four times 2 cores on v2, whose GPUs are idle; dave needs two
    GPUs on each. Of the small runs one is enough: all four would use up what alice may lose."""
    small = [run(str(number), "alice", "v2=2", 5) for number in (2, 3, 4, 5)]
    snapshot = cluster(
        [vnode("v1", 4, has={"ngpus": 2}), vnode("v2", 8, has={"ngpus": 2})],
        [job("9", "dave", "2:ncpus=1:ngpus=2")],
        [run("1", "alice", "(v1:ncpus=4:ngpus=1)", 0), *small],
        queues=[queue("[u:alice=4],[u:dave=6]")],
    )
    gone = victims(plan_for(snapshot, quota_settings(victim_order=order)))
    assert "1" in gone
    assert len(gone) == 2
    assert set(gone.values()) == {"9"}
