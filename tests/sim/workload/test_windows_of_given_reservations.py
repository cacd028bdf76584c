"""Reservations of a replayed cluster: their occurrences and windows, and timelines in which jobs keep clear of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policy.model.jobs_runs_vnodes_queues import Window
from sim.replay.job_records import Replay
from sim.replay.metrics import measure
from sim.replay.named_policies import resolve
from sim.replay.replay import replay, vnodes_of
from sim.workload.lublin_feitelson import generate
from sim.workload.windows_of_given_reservations import Reservation, windows_of_nodes
from sim.workload.workload import Cluster, TraceJob, Workload

FOUR = Cluster(2, 2)
FIRST_NODE = Reservation("R1", (1,), 100, 50)
BOTH = Reservation("R1", (1, 2), 100, 50)


def a(number: int, submit_s: float, run_s: float, cores: int, estimate_s: float = 0) -> TraceJob:
    return TraceJob(number, submit_s, run_s, estimate_s or run_s, cores, "alice", "g")


def run_with(reservation: Reservation, *jobs: TraceJob, policy: str = "easy") -> Replay:
    workload = Workload("test", FOUR, jobs)
    cluster = replace(FOUR, reservations=(reservation,))
    return replay(workload, cluster, resolve(policy, workload, cluster))


def starts(result: Replay) -> dict[int, float]:
    return {record.job.number: record.start_s for record in result.records}


def test_a_standing_reservation_occurs_at_equal_distances() -> None:
    weekly = Reservation("R1", (1,), 10, 5, every_s=100, count=3)
    assert list(weekly.occurrences()) == [(10, 15), (110, 115), (210, 215)]


@pytest.mark.parametrize(
    ("first_s", "last_s", "cores", "kept"), [(0, 1000, None, 3 * 5 * 8), (12, 112, 1, 3 + 2), (15, 110, None, 0)]
)
def test_core_seconds_between_two_times(first_s: float, last_s: float, cores: int | None, kept: float) -> None:
    reservation = Reservation("R1", (1,), 10, 5, cores, every_s=100, count=3)
    assert reservation.core_s_between(first_s, last_s, cores_per_node=8) == kept


def test_nodes_of_the_same_reservations_share_their_windows() -> None:
    part = Reservation("part", (2, 3, 4), 0, 10, cores=1)
    windows = windows_of_nodes([Reservation("whole", (1, 2, 3), 20, 10), part])
    assert [len(windows[node]) for node in (1, 2, 3, 4)] == [1, 2, 2, 1]
    assert windows[2] is windows[3]
    assert windows[4] == (Window(0, 10, "reservation part", (("ncpus", 1),)),)


def test_vnodes_are_closed_by_their_number() -> None:
    vnodes = vnodes_of(Cluster(12, 1, (Reservation("R1", (2, 12), 0, 10),)))
    assert [vnode.name for vnode in vnodes if vnode.closed] == ["n02", "n12"]


# Jobs of 60 s submitted at 50 s: on node 1 each would run into the reservation at 100 s.
#
#        50       100  110      150
# node 2 |1 and 2-------|3 and 4------ ...
# node 1 |         |reserved--|
def test_jobs_that_would_run_into_it_go_elsewhere_or_wait() -> None:
    result = run_with(FIRST_NODE, *(a(number, 50, 60, 1) for number in (1, 2, 3, 4)))
    assert starts(result) == {1: 50, 2: 50, 3: 110, 4: 110}
    assert {record.vnodes for record in result.records} == {("n2",)}


def test_a_job_that_ends_in_time_uses_the_nodes_until_then() -> None:
    assert starts(run_with(BOTH, a(1, 50, 50, 4))) == {1: 50}
    assert starts(run_with(BOTH, a(1, 50, 51, 4))) == {1: 150}


def test_the_estimate_decides_since_nobody_knows_the_run_time() -> None:
    assert starts(run_with(BOTH, a(1, 50, 10, 4, estimate_s=60))) == {1: 150}


def test_the_end_of_a_reservation_alone_wakes_the_replay() -> None:
    assert starts(run_with(BOTH, a(1, 120, 10, 1))) == {1: 150}


def test_beside_a_part_of_each_node_jobs_use_the_rest() -> None:
    half = Reservation("R1", (1, 2), 100, 50, cores=1)
    assert starts(run_with(half, *(a(number, 90, 30, 1) for number in (1, 2, 3)))) == {1: 90, 2: 90, 3: 120}


def test_between_occurrences_jobs_run() -> None:
    daily = Reservation("R1", (1, 2), 0, 10, every_s=100, count=3)
    assert starts(run_with(daily, a(1, 0, 90, 4), a(2, 0, 90, 4), a(3, 0, 91, 4))) == {1: 10, 2: 110, 3: 210}


@pytest.mark.parametrize("policy", ["fcfs", "easy", "easy-sjbf", "quota", "checkpoint-rescue"])
def test_no_run_is_on_a_reserved_node_under_any_policy(policy: str) -> None:
    cluster = Cluster(16, 4, (Reservation("R1", tuple(range(1, 9)), 7_200, 3_600, every_s=36_000, count=40),))
    workload = generate(300, cluster, 5, 1, 1.2)
    reserved = {vnode.name for vnode in vnodes_of(cluster) if vnode.closed}
    inside = [
        (record.job.number, start_s)
        for record in replay(workload, cluster, resolve(policy, workload, cluster)).records
        if reserved & set(record.vnodes)
        for start_s, end_s in cluster.reservations[0].occurrences()
        if record.segments[-1][0] < end_s and start_s < record.segments[-1][1]
    ]
    assert not inside
    unreserved = replay(workload, replace(cluster, reservations=()), resolve(policy, workload, cluster))
    assert any(
        record.segments[-1][0] < end_s and start_s < record.segments[-1][1] and reserved & set(record.vnodes)
        for record in unreserved.records
        for start_s, end_s in cluster.reservations[0].occurrences()
    )


def test_what_they_keep_is_measured_until_the_last_end() -> None:
    result = run_with(FIRST_NODE, a(1, 0, 120, 2))
    assert measure(result).reserved_core_s == 20 * 2
    assert measure(replace(result, cluster=FOUR)).reserved_core_s is None
