"""What keeps a job from starting whatever is free, and that it counts starts, holds and the head as they come."""

from __future__ import annotations

import pytest

from policy import Ledger
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
        server=Server("s", shared={"licences": 1}),
    )
    plan = plan_for(snapshot)
    assert started(plan) == ["3", "5"]
    assert codes(plan) == {"4": "server-resource"}


def test_a_job_that_asks_for_more_than_the_server_has_is_told_that_no_end_of_a_job_brings_it() -> None:
    waiting = job("3", job_wide=(("licences", 3),))
    plan = plan_for(cluster([vnode("v1", 9)], [waiting], server=Server("s", shared={"licences": 2})))
    ((_, reason),) = plan.reasons().values()
    assert "2 are left, and 1 would be lacking with all jobs ended too" in reason.sentence(waiting, 10)


OF_SERVER = Server("s", shared={"ncpus": 6})


def test_cores_of_the_server_are_counted_down_with_those_that_runs_hold() -> None:
    snapshot = cluster(
        [vnode("v1", 9)], [job("3", select="3"), job("4", select="2"), job("5")], [run("1", "bob", "v1=4")],
        server=OF_SERVER,
    )  # fmt: skip
    plan = plan_for(snapshot)
    assert started(plan) == ["4"]
    assert codes(plan) == {"3": "server-resource", "5": "server-resource"}


def test_nobody_is_preempted_for_a_job_for_which_the_server_has_too_few_cores() -> None:
    """Of what the server has, alice holds 4 beyond quota: 2 are left for bob, who has 4 of a quota."""
    snapshot = cluster(
        [vnode("v1", 4), vnode("v2", 1)],
        [job("3", "bob", "4"), job("4", "bob", "2")],
        [run("1", "alice", "v1=4")],
        queues=[queue("[u:alice=0],[u:bob=4]")],
        server=OF_SERVER,
    )
    plan = plan_for(snapshot)
    assert victims(plan) == {"1": "4"}
    assert codes(plan) == {"3": "server-resource", "4": "preempting"}


def test_cores_of_the_server_are_kept_for_a_job_that_waits_for_its_victims() -> None:
    """5 of 6 are in use: bob's 3 needs the last one, on the vnode that alice has."""
    snapshot = cluster(
        [vnode("v1", 4), vnode("v2", 4)],
        [job("3", "bob", "1:ncpus=1:vnode=v1"), job("4", "carol", "1")],
        [run("1", "alice", "v1=4"), run("2", "carol", "v2=1")],
        queues=[queue("[u:alice=0],[u:bob=4]")],
        server=OF_SERVER,
    )
    plan = plan_for(snapshot)
    assert victims(plan) == {"1": "3"}
    assert codes(plan) == {"3": "preempting", "4": "server-resource"}


def test_a_promise_outlasts_the_cores_of_the_server_that_runs_have() -> None:
    """3 was promised a start at 110, when 1 gives back 4 of the 6 cores."""
    snapshot = cluster(
        [vnode("v1", 9)],
        [job("3", "bob", "4"), job("4", "carol", "2"), job("5", "dave", "2", 80)],
        [run("1", "alice", "v1=4")],
        server=OF_SERVER,
    )
    plan = plan_for(snapshot, ledger=Ledger(promises={"3": 110}))
    assert [(estimate.id, estimate.at_s) for estimate in plan.estimates] == [("3", 100)]
    assert codes(plan) == {"3": "reserved", "4": "server-resource"}
    assert started(plan) == ["5"]


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


@pytest.mark.parametrize(
    ("bound", "server", "sentence"),
    [
        (
            HardLimits(quotas("[u:bob=2]")),
            Server(),
            "queue workq allows u:bob 2 running jobs: 1 is in use, 1 kept for 3, which comes first, and it needs 1: it"
            " waits for 1 of these to be given back, or for a limit of 3",
        ),
        (
            HardLimits(),
            Server("s", shared={"ncpus": 9}),
            "asks for 1 ncpus of the server: 6 are left, 6 kept for 3, which comes first, and it waits for 1 more",
        ),
    ],
)
def test_what_is_kept_for_the_head_is_not_said_to_be_in_use(bound: HardLimits, server: Server, sentence: str) -> None:
    snapshot = cluster(
        [vnode("v1", 7)],
        [job("3", "bob", "6"), job("4", "bob", "1", 1000)],
        [run("1", "bob", "v1=3")],
        queues=[Queue(QUEUE, hard=bound)],
        server=server,
    )
    plan = plan_for(snapshot)
    assert [estimate.id for estimate in plan.estimates] == ["3"]
    left, reason = plan.reasons()["4"]
    assert reason.sentence(left, plan.time_s) == sentence


def test_a_queue_nobody_knows() -> None:
    plan = plan_for(cluster([vnode("v1")], [job("3", queue_name="gone")]))
    assert codes(plan) == {"3": "queue-unknown"}


@pytest.mark.parametrize(("not_before_s", "code"), [(10.0, None), (9.0, None), (11.0, "not-before")])
def test_a_start_time_is_over_when_it_comes(not_before_s: float, code: str | None) -> None:
    plan = plan_for(cluster([vnode("v1")], [job("3", not_before_s=not_before_s)]))
    assert codes(plan).get("3") == code
