"""What could not be preempted starts only within quota, or by its own priority: where, and where not."""

from __future__ import annotations

from typing import Any

import pytest

from policy import Ledger, Queue
from policy.model.limit_attributes import parse_limits
from policy.settings.site_settings import PrioritySettings, QuotaSettings, Settings
from tests.policy.clusters import cluster, codes, job, plan_for, queue, run, started, vnode

QUOTAS = "[u:alice=4],[u:bob=4]"
PRIORITIES = parse_limits("[u:alice=9]", "test")


def confined(
    text: str = QUOTAS, settings: Settings | None = None, ledger: Ledger | None = None, **of_queue: Any
) -> Any:
    """alice runs 4 cores of her 4; she has one more job, which may not be rerun, and 8 cores are idle."""
    snapshot = cluster(
        [vnode("v1", 12)],
        [job("2", "alice", "4", rerunable=False)],
        [run("1", "alice", "v1=4")],
        queues=[queue(text, **of_queue)],
    )
    return plan_for(snapshot, settings, ledger)


def test_beyond_quota_it_waits_although_cores_are_idle() -> None:
    plan = confined()
    assert (started(plan), codes(plan)) == ([], {"2": "unpreemptible"})


@pytest.mark.parametrize(
    ("text", "settings", "of_queue"),
    [
        ("[u:alice=8],[u:bob=4]", None, {}),
        ("[u:bob=4]", None, {}),
        (QUOTAS, Settings(quota=QuotaSettings(confine_unpreemptible=False)), {}),
        (QUOTAS, Settings(quota=QuotaSettings(preempt=False)), {}),
        ("[u:alice=8]", Settings(quota=QuotaSettings(preempt=False)), {"priorities": PRIORITIES}),
    ],
    ids=["within", "no entry", "turned off", "nobody preempts", "own priority"],
)
def test_elsewhere_it_starts(text: str, settings: Settings | None, of_queue: dict[str, Any]) -> None:
    assert started(confined(text, settings, **of_queue)) == ["2"]


def test_with_classes_alone_the_priority_quota_is_what_counts() -> None:
    settings = Settings(quota=QuotaSettings(preempt=False), priority=PrioritySettings(preempt=True))
    assert codes(confined(settings=settings, priorities=PRIORITIES)) == {"2": "unpreemptible"}


def test_it_heads_no_line() -> None:
    """The job behind it needs all cores, and is the one that is reserved for."""
    snapshot = cluster(
        [vnode("v1", 12)],
        [job("2", "alice", "12", rerunable=False), job("3", "bob", "12")],
        [run("1", "alice", "v1=4")],
        queues=[queue(QUOTAS)],
    )
    plan = plan_for(snapshot)
    assert codes(plan) == {"2": "unpreemptible", "3": "reserved"}


@pytest.mark.parametrize(("cap", "code"), [(None, ""), (3, ""), (2, "unpreemptible")])
def test_a_subjob_at_the_cap(cap: int | None, code: str) -> None:
    """It is the next subjob that counts; the others of its array may be preempted."""
    array = job("5[]", "alice", "1", subjobs=(3, 4))
    snapshot = cluster([vnode("v1", 12)], [array], [run("1", "alice", "v1=4")], queues=[queue(QUOTAS)])
    plan = plan_for(snapshot, Settings(quota=QuotaSettings(max_preemptions=cap)), Ledger(preemptions={"5[3]": 2}))
    assert codes(plan).get("5[]", "") == code
    assert started(plan) == ([] if code else ["5[3]", "5[4]"])


@pytest.mark.parametrize(("quota", "starts"), [(12, True), (11, False)])
def test_an_exclusive_one_counts_with_what_its_vnode_has(quota: int, starts: bool) -> None:
    snapshot = cluster(
        [vnode("v1", 12)],
        [job("2", "alice", "1", place="excl", rerunable=False)],
        queues=[queue(f"[u:alice={quota}]")],
    )
    assert bool(started(plan_for(snapshot))) is starts


@pytest.mark.parametrize(("quota", "starts"), [(16, True), (15, False)])
def test_where_it_is_decides_not_where_it_would_be_alone(quota: int, starts: bool) -> None:
    """All idle, it would be on the smaller vnode; that is taken, and the other is too much."""
    snapshot = cluster(
        [vnode("v1", 4), vnode("v2", 16)],
        [job("2", "alice", "1", place="excl", rerunable=False)],
        [run("1", "bob", "v1=1")],
        queues=[queue(f"[u:alice={quota}]")],
    )
    assert bool(started(plan_for(snapshot))) is starts


def test_a_quota_that_would_do_is_named_only_where_it_would_do_on_any_vnode() -> None:
    """All idle, it would keep 4 of alice's quota on v1; that is taken, and on v2 it keeps 16, with a quota of 4 too."""
    waiting = job("2", "alice", "1", place="excl", rerunable=False)
    for larger, text in ((16, "so with more or less on others"), (4, "within it with a quota of 4")):
        vnodes, queues = [vnode("v1", 4), vnode("v2", larger)], [queue("[u:alice=2]")]
        plan = plan_for(cluster(vnodes, [waiting], [run("1", "bob", "v1=1")], queues=queues))
        sentence = plan.reasons()["2"][1].sentence(waiting, plan.time_s)
        assert "u:alice would use 0 + 4 of a quota of 2" in sentence
        assert text in sentence
        assert ("within it" in sentence) is (larger == 4)


def test_a_job_without_quota_is_not_confined_by_the_quota_of_another_queue() -> None:
    snapshot = cluster(
        [vnode("v1", 12)],
        [job("2", "alice", "4", rerunable=False, queue_name="other")],
        queues=[queue("[u:alice=0]"), Queue("other")],
    )
    assert started(plan_for(snapshot)) == ["2"]
