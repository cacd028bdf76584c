"""A replay on several clusters: a waiting job moves where it starts earlier, and runs once."""

from __future__ import annotations

import pytest

from sim.replay.named_policies import resolve
from sim.replay.several_clusters import ClustersReplay, Copying, Site, replay_clusters
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster, TraceJob, Workload

FAST = Copying(0, 1)


def site(name: str, *jobs: tuple[float, float, int], nodes: int = 8) -> Site:
    """A cluster with jobs of submit time, run time (the estimate too) and cores."""
    cluster = Cluster(nodes, 1)
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
