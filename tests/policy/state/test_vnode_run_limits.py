"""Run limits of vnodes: counting jobs, and what is closed to which jobs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy import Vnode
from policy.model.job_request import Owner, parse_request
from policy.model.jobs_runs_vnodes_queues import RunLimits
from policy.state.vnode_run_limits import RunCounts
from policy.state.vnodes_by_idle_cores import Capacity
from tests.policy.clusters import (
    cluster,
    codes,
    job,
    place_of,
    plan_for,
    queue,
    run,
    starts,
    victims,
    vnode,
    with_owners,
)

ALICE, BOB = ("alice", "chem"), ("bob", "chem")
ONE = parse_request("1:ncpus=1")


def capacity_of(*limits: RunLimits | None) -> Capacity:
    return Capacity.of({f"v{n}": vnode(f"v{n}", 8, run_limits=each) for n, each in enumerate(limits)})


def start(capacity: Capacity, where: str, owner: Owner, *, back: bool = False) -> None:
    act = capacity.give if back else capacity.take
    act(place_of(where).shares(capacity.directory), ONE.of_owner(owner))


def open_to(capacity: Capacity, owner: Owner) -> int:
    return capacity.open_to(ONE.of_owner(owner))


def test_a_vnode_is_closed_to_whom_it_runs_as_many_jobs_of_as_it_may() -> None:
    capacity = capacity_of(RunLimits(in_all=2), RunLimits(of_user=1), RunLimits(of_group=1), None)
    for where in ("v0=1", "v1=1", "v2=1", "v3=1"):
        start(capacity, where, ALICE)
    assert (open_to(capacity, ALICE), open_to(capacity, BOB), open_to(capacity, ("eve", "x"))) == (
        0b1001,
        0b1011,
        0b1111,
    )
    start(capacity, "v0=1", BOB)
    assert open_to(capacity, ("eve", "x")) == 0b1110
    start(capacity, "v0=1", BOB, back=True)
    assert open_to(capacity, ("eve", "x")) == 0b1111


def test_a_job_counts_once_on_a_vnode_whatever_it_has_there() -> None:
    capacity = capacity_of(RunLimits(in_all=2))
    start(capacity, "(v0:ncpus=1)+(v0:ncpus=2)+(v0:ncpus=1)", ALICE)
    assert open_to(capacity, BOB) == 1


def test_a_vnode_that_may_run_no_job_is_closed_to_all() -> None:
    assert open_to(capacity_of(RunLimits(in_all=0), RunLimits(of_user=0), RunLimits(of_group=0)), ALICE) == 0


def test_what_nobody_is_counted_by_is_open_and_a_cluster_without_limits_counts_nothing() -> None:
    limited = capacity_of(RunLimits(in_all=1))
    start(limited, "v0=1", ALICE)
    assert limited.open_to(ONE) == 1
    assert capacity_of(None).run_counts is None


OWNERS = st.sampled_from((ALICE, BOB, ("carol", "phys")))
JOBS = st.lists(st.tuples(st.sampled_from(("v0=1", "v1=1", "v0=1 v1=1")), OWNERS), max_size=8)


@given(JOBS, st.permutations(range(8)))
def test_taking_jobs_back_in_any_order_leaves_the_counts_as_they_were(
    jobs: list[tuple[str, Owner]], order: list[int]
) -> None:
    capacity = capacity_of(RunLimits(1, 2, 3), RunLimits(of_user=1))
    before = capacity.copy()
    for where, owner in jobs:
        start(capacity, where, owner)
    copied = capacity.copy()
    assert copied.run_counts == capacity.run_counts
    for number in order:
        if number < len(jobs):
            start(capacity, *jobs[number], back=True)
    assert isinstance(capacity.run_counts, RunCounts)
    assert capacity.is_like(before)
    assert not jobs or copied.run_counts != capacity.run_counts


# In a pass


def one_a_user(name: str, ncpus: int = 4) -> Vnode:
    return vnode(name, ncpus, run_limits=RunLimits(of_user=1))


def test_a_victim_gives_its_place_among_the_jobs_of_a_vnode_though_cores_are_idle() -> None:
    vnodes = [vnode("v1", 8, run_limits=RunLimits(in_all=1))]
    runs = [run("1", "alice", "v1=2")]
    runs = [each._replace(job=with_owners([each.job], vnodes)[0]) for each in runs]
    waiting = with_owners([job("2", "bob", "1:ncpus=2")], vnodes)
    plan = plan_for(cluster(vnodes, waiting, runs, queues=[queue("[u:alice=0],[u:bob=4]")]))
    assert victims(plan) == {"1": "2"}


def test_no_other_job_takes_the_place_that_a_beneficiary_waits_for() -> None:
    vnodes = [vnode("v1", 8, run_limits=RunLimits(in_all=2))]
    runs = [run("1", "alice", "v1=4"), run("9", "bob", "v1=1")]
    runs = [each._replace(job=with_owners([each.job], vnodes)[0]) for each in runs]
    waiting = with_owners([job("2", "bob", "1:ncpus=4"), job("3", "alice", "1:ncpus=1")], vnodes)
    plan = plan_for(cluster(vnodes, waiting, runs, queues=[queue("[u:alice=0],[u:bob=5]")]))
    assert victims(plan) == {"1": "2"}
    assert starts(plan) == {}
    assert set(codes(plan)) == {"2", "3"}


def test_a_head_is_reserved_for_when_its_owners_job_ends() -> None:
    vnodes = [one_a_user("v1"), one_a_user("v2")]
    runs = [run("1", "alice", "v1=1", estimate_s=300), run("2", "alice", "v2=1", estimate_s=200)]
    runs = [each._replace(job=with_owners([each.job], vnodes)[0]) for each in runs]
    waiting = with_owners([job("3", "alice", "1"), job("4", "bob", "3", estimate_s=500)], vnodes)
    plan = plan_for(cluster(vnodes, waiting, runs))
    assert plan.reasons()["3"][1].number("at_s") == 200
    assert starts(plan) == {"4": "(v1:ncpus=1)+(v1:ncpus=1)+(v1:ncpus=1)"}
