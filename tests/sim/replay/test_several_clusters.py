"""A replay on several clusters: a waiting job moves where it starts earlier, and runs once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sim.replay.metrics import measure
from sim.replay.named_policies import resolve
from sim.replay.several_clusters import ClustersReplay, Copying, Site, replay_clusters
from sim.workload.lublin_feitelson import generate
from sim.workload.windows_of_given_reservations import Reservation
from sim.workload.workload import Cluster, TraceJob, Workload

FAST = Copying(0, 1)


def site(name: str, *jobs: tuple[float, float, int], nodes: int = 8, reserved: Sequence[Reservation] = ()) -> Site:
    """A cluster with jobs of submit time, run time (the estimate too) and cores."""
    cluster = Cluster(nodes, 1, tuple(reserved))
    traced = [
        TraceJob(number, submit, run, run, cores, "u", "g") for number, (submit, run, cores) in enumerate(jobs, 1)
    ]
    workload = Workload(name, cluster, tuple(traced))
    return Site(name, workload, cluster, resolve("easy", workload, cluster))


def starts(result: ClustersReplay) -> list[float]:
    return [record.start_s for record in result.replay.records]


def test_a_job_that_waits_moves_within_a_minute_and_starts_when_its_files_are_there() -> None:
    sites = [site("a", (0, 1000, 8), (10, 100, 4)), site("b")]
    assert starts(replay_clusters(sites, None)) == [0, 1000]
    moved = replay_clusters(sites, Copying(100, 10))
    assert starts(moved) == [0, 60 + 4 * 100 / 10]
    assert (moved.moved_jobs, moved.moved_bytes) == (1, 400)


def test_where_every_cluster_has_room_nothing_moves() -> None:
    sites = [site("a", (0, 100, 4), (5, 100, 4)), site("b", (0, 100, 4))]
    assert replay_clusters(sites, FAST).moved_jobs == 0


def test_two_sources_do_not_fill_the_same_cores() -> None:
    sites = [site("a", (0, 9000, 8), (10, 100, 5)), site("b", (0, 9000, 8), (10, 100, 5)), site("c")]
    result = replay_clusters(sites, Copying(1000, 10))
    assert result.moved_jobs == 2
    first, second = starts(result)[1], starts(result)[3]
    assert first == 60 + 500
    assert second >= first + 100, "the second is sent when the first has ended there"


@pytest.mark.parametrize(
    ("reserved_s", "nodes", "starts_s"),
    [
        ((0, 500), 8, 540),  # moves when it is over
        ((150, 700), 8, 600),  # would run into it
        ((160, 700), 8, 60),  # ends before it
        ((150, 700), 4, 60),  # has room beside it
        ((150, 700), 5, 600),
        ((0, 50), 8, 60),
    ],
)
def test_a_job_moves_only_to_where_it_can_start_beside_reservations(
    reserved_s: tuple[float, float], nodes: int, starts_s: float
) -> None:
    """The job of 100 s waits from 10 on, and would start at home at 600."""
    begin_s, end_s = reserved_s
    course = Reservation("course", tuple(range(1, nodes + 1)), begin_s, end_s - begin_s)
    result = replay_clusters([site("a", (0, 600, 8), (10, 100, 4)), site("b", reserved=[course])], FAST)
    assert starts(result)[1] == starts_s
    assert result.moved_jobs == (starts_s != 600)


def test_jobs_sent_together_have_room_beside_a_reservation_together() -> None:
    """8 cores are idle for a short job, 4 for these: the second is sent when the first has ended."""
    course = Reservation("course", (1, 2, 3, 4), 500, 5000)
    busy = site("a", (0, 9000, 8), (10, 600, 4), (20, 600, 4))
    first, second = starts(replay_clusters([busy, site("b", reserved=[course])], FAST))[1:]
    assert (first, second) == (60, 720)


def test_cores_that_are_reserved_on_shared_nodes_are_not_idle() -> None:
    cluster = Cluster(2, 4, (Reservation("course", (1, 2), 0, 5000, cores=3),))
    workload = Workload("b", cluster, ())
    partly = Site("b", workload, cluster, resolve("easy", workload, cluster))
    result = replay_clusters([site("a", (0, 900, 8), (10, 100, 2), (20, 100, 4)), partly], FAST)
    assert starts(result) == [0, 60, 900]


def test_reservations_of_all_clusters_are_counted() -> None:
    half = Reservation("half", (1, 2), 0, 100, cores=2)
    sites = []
    for name, cluster in (("a", Cluster(2, 4, (half,))), ("b", Cluster(3, 2, (half,)))):
        workload = Workload(name, cluster, (TraceJob(1, 0, 200, 200, 1, "u", "g"),))
        sites.append(Site(name, workload, cluster, resolve("easy", workload, cluster)))
    reserved = [measure(replay_clusters(sites, copying).replay).reserved_core_s for copying in (None, FAST)]
    assert reserved == [800, 800]


def test_starts_are_measured_against_promises() -> None:
    """The second job is promised 1000, and the first ends at 400, before its estimate."""
    cluster = Cluster(8, 1)
    jobs = (TraceJob(1, 0, 400, 1000, 8, "u", "g"), TraceJob(2, 10, 100, 100, 8, "u", "g"))
    workload = Workload("a", cluster, jobs)
    result = replay_clusters([Site("a", workload, cluster, resolve("easy", workload, cluster))], None)
    assert [record.head_delay_s for record in result.replay.records] == [None, -600]


def test_a_job_that_no_cluster_of_its_own_could_hold_is_counted() -> None:
    result = replay_clusters([site("a", (0, 10, 9), (0, 10, 1)), site("b")], FAST)
    assert result.replay.skipped == {"never startable": 1}
    assert len(result.replay.records) == 1


@pytest.mark.parametrize("copying", [None, FAST, Copying(1 << 30, 1 << 27)])
def test_every_job_runs_once_and_no_core_twice(copying: Copying | None) -> None:
    cluster = Cluster(8, 4)
    sites = []
    for seed in (1, 2, 3):
        workload = generate(60, cluster, 5, seed, 0.9)
        sites.append(Site(f"c{seed}", workload, cluster, resolve("easy", workload, cluster)))
    result = replay_clusters(sites, copying)
    assert [record.job.number for record in result.replay.records] == list(range(1, 181))
    changes = sorted(
        (time_s, change * record.job.cores)
        for record in result.replay.records
        for time_s, change in ((record.start_s, 1), (record.end_s, -1))
    )
    used = 0
    for _, change in changes:
        used += change
        assert used <= 3 * 32
    assert all(record.start_s >= record.job.submit_s for record in result.replay.records)
