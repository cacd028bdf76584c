"""Reasons of jobs over quota are made when they are read, of what was there at the attempt."""

from __future__ import annotations

from policy.eligibility.soft_quotas import Quotas
from policy.plan.reasons_named_when_read import OverQuota
from policy.reasons.reason import Reason
from tests.policy.clusters import cluster, job, plan_for, queue, run, vnode

TOO_FEW = Reason("too-few-idle", (("idle", 1),))


def over_quota(entity: str, used: int, limit: int, going: int = 0) -> Reason:
    numbers = (("entity", entity), ("used", used), ("counted", "ncpus"), ("limit", limit), ("queue", "workq"))
    return Reason("over-quota", (*numbers, ("going", going)) if going else numbers)  # type: ignore[arg-type]


def test_each_user_gets_a_reason_with_what_was_used_at_the_attempt() -> None:
    """bob has a limit of his own, carol the generic one; what is booked later does not count."""
    waiting = [job("3", "bob", "4"), job("4", "carol", "6"), job("5", "bob", "5")]
    runs = [run("1", "bob", "v1=2")]
    snapshot = cluster([vnode("v1", 8)], waiting, runs, queues=[queue("[u:bob=3],[u:PBS_GENERIC=5]")])
    quotas = Quotas(snapshot.cluster())
    headroom = quotas.headroom("workq")
    assert [headroom.first_exceeded(each) for each in waiting] == [("u", "bob"), ("u", "carol"), ("u", "bob")]
    quotas.shift(waiting[0], 1)
    left = OverQuota(TOO_FEW, "workq", headroom, {("workq", "ncpus", ("u", "bob")): 2}, list(waiting))
    waits: dict[Reason, list[object]] = {}
    left.name(waits)  # type: ignore[arg-type]  # a job is an object
    assert waits == {
        TOO_FEW._replace(tried=(over_quota("u:bob", 2, 3, going=2),)): [waiting[0], waiting[2]],
        TOO_FEW._replace(tried=(over_quota("u:carol", 0, 5),)): [waiting[1]],
    }
    assert left.jobs == []


def test_limits_of_groups_and_of_all_are_named_too() -> None:
    everybody = [queue("[g:chem=1],[o:PBS_ALL=4]")]
    waiting = [job("3", "bob", "2", group="chem"), job("4", "carol", "3")]
    snapshot = cluster([vnode("v1", 8)], waiting, [run("1", "dave", "v1=2")], queues=everybody)
    headroom = Quotas(snapshot.cluster()).headroom("workq")
    assert [headroom.first_exceeded(each) for each in waiting] == [("g", "chem"), ("o", "PBS_ALL")]
    assert headroom.limit_and_use(("g", "chem")) == (1, 0)
    assert headroom.limit_and_use(("o", "PBS_ALL")) == (4, 2)


def test_a_plan_has_a_reason_for_each_of_them() -> None:
    """2 is the head; the others need more than is idle, and are over their quotas."""
    waiting = [job("2", "dave", "8"), *(job(str(number), f"u{number}", "4") for number in range(3, 6))]
    runs = [run("1", "zoe", "v1=6", 0, 100)]
    plan = plan_for(cluster([vnode("v1", 8)], waiting, runs, queues=[queue("[u:PBS_GENERIC=3]")]))
    tried = {job_id: reason.tried for job_id, (_, reason) in plan.reasons().items() if job_id != "2"}
    assert tried == {str(number): (over_quota(f"u:u{number}", 0, 3),) for number in range(3, 6)}
