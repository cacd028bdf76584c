"""What keeps a job from starting whatever is free, and that it counts starts, holds and the head as they come."""

from __future__ import annotations

import pytest

from policy.model.jobs_runs_vnodes_queues import HardLimits, Queue, Server
from tests.policy.clusters import QUEUE, cluster, codes, job, plan_for, queue, quotas, run, started, victims, vnode


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (HardLimits(quotas("[u:alice=2]")), ["3", "5"]),
        (HardLimits(quotas("[u:PBS_GENERIC=1]")), ["5"]),
        (HardLimits(quotas("[o:PBS_ALL=2]")), ["3"]),
        (HardLimits(max_run_res={"ncpus": quotas("[u:alice=3]")}), ["3", "5"]),
        (HardLimits(max_run_res={"ncpus": quotas("[u:alice=2]")}), ["4", "5"]),
        (HardLimits(max_run_res={"ngpus": quotas("[u:alice=0]")}), ["3", "4", "5"]),
        (HardLimits(quotas("[g:chem=1]")), ["5"]),
    ],
)
@pytest.mark.parametrize("on_server", [False, True])
def test_starts_of_the_pass_count_against_hard_limits(
    limits: HardLimits, expected: list[str], *, on_server: bool
) -> None:
    """alice of chem runs 1 core; she asks for 2 and 1 more, bob of phys for 1."""
    snapshot = cluster(
        [vnode("v1", 9)],
        [
            job("3", "alice", "2", group="chem"),
            job("4", "alice", "1", group="chem"),
            job("5", "bob", "1", group="phys"),
        ],
        [run("1", "alice", "v1=1", group="chem")],
        queues=[Queue(QUEUE, hard=HardLimits() if on_server else limits)],
        server=Server("s", limits if on_server else HardLimits()),
    )
    assert started(plan_for(snapshot)) == expected


def test_a_limit_of_another_queue_does_not_bind() -> None:
    other = Queue("other", hard=HardLimits(quotas("[o:PBS_ALL=0]")))
    snapshot = cluster([vnode("v1")], [job("3"), job("4", queue_name="other")], queues=[Queue(QUEUE), other])
    assert started(plan_for(snapshot)) == ["3"]


def test_licences_are_counted_down() -> None:
    wide = (("licences", 1),)
    snapshot = cluster(
        [vnode("v1", 9)],
        [job("3", job_wide=wide), job("4", job_wide=wide), job("5")],
        server=Server("s", left={"licences": 1}),
    )
    plan = plan_for(snapshot)
    assert started(plan) == ["3", "5"]
    assert codes(plan) == {"4": "server-resource"}


def test_a_job_that_waits_for_its_victims_counts_against_its_limits() -> None:
    """bob's 3 preempts for 4 cores, his limit; his 4 must not slip in before and shut 3 out."""
    bound = queue("[u:alice=0],[u:bob=8]", hard=HardLimits(max_run_res={"ncpus": quotas("[u:bob=4]")}))
    snapshot = cluster(
        [vnode("v1", 4), vnode("v2", 1)],
        [job("3", "bob", "4:ncpus=1:vnode=v1"), job("4", "bob", "1")],
        [run("1", "alice", "v1=4")],
        queues=[bound],
    )
    plan = plan_for(snapshot)
    assert victims(plan) == {"1": "3"}
    assert codes(plan) == {"3": "preempting", "4": "hard-limit"}


@pytest.mark.parametrize(("estimate_s", "expected"), [(1000, []), (50, ["4"])])
def test_the_head_keeps_its_limits_from_those_that_pass_its_time(estimate_s: float, expected: list[str]) -> None:
    """bob's head needs his whole limit at 100; his own small job may use some of it until then, not longer."""
    bound = Queue(QUEUE, hard=HardLimits(max_run_res={"ncpus": quotas("[u:bob=4]")}))
    snapshot = cluster(
        [vnode("v1", 6)],
        [job("3", "bob", "4"), job("4", "bob", "1", estimate_s)],
        [run("1", "alice", "v1=3")],
        queues=[bound],
    )
    plan = plan_for(snapshot)
    assert [estimate.id for estimate in plan.estimates] == ["3"]
    assert started(plan) == expected


def test_a_queue_nobody_knows() -> None:
    plan = plan_for(cluster([vnode("v1")], [job("3", queue_name="gone")]))
    assert codes(plan) == {"3": "queue-unknown"}


@pytest.mark.parametrize(("not_before_s", "code"), [(10.0, None), (9.0, None), (11.0, "not-before")])
def test_a_start_time_is_over_when_it_comes(not_before_s: float, code: str | None) -> None:
    plan = plan_for(cluster([vnode("v1")], [job("3", not_before_s=not_before_s)]))
    assert codes(plan).get("3") == code
