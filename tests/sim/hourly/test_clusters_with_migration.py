"""The model in steps of an hour: waiting jobs go to the first cluster that can start them, and no core is used
twice."""

from __future__ import annotations

import pytest

from sim.hourly.clusters_with_migration import Migration, run_clusters
from sim.hourly.random_jobs import HORIZON_H, HourlyJob, draw_clusters, draw_users


def idle_core_h(clusters: list[list[HourlyJob]], migration: Migration | None, size: int = 10) -> int:
    return round(run_clusters(clusters, size, migration).idle * size * len(clusters) * HORIZON_H)


def test_a_job_that_waits_goes_to_the_first_cluster_that_can_start_it() -> None:
    full, waits = HourlyJob(0, 10, 100), HourlyJob(1, 4, 10)
    clusters = [[full, waits], [HourlyJob(0, 8, 100)], []]
    alone, together = run_clusters(clusters, 10, None), run_clusters(clusters, 10, Migration())
    assert (alone.moved, together.moved) == (0, 1 / 3)
    assert (alone.wait_h, together.wait_h) == (99 / 3, 0)


def test_its_own_cluster_comes_first_and_smaller_jobs_pass_a_wide_one() -> None:
    clusters = [[HourlyJob(0, 6, 10), HourlyJob(1, 6, 10), HourlyJob(1, 4, 10)], [HourlyJob(0, 9, 50)]]
    assert run_clusters(clusters, 10, Migration()).moved == 0
    assert run_clusters(clusters, 10, Migration()).wait_h == 9 / 4


def test_copying_holds_the_cores_longer_and_a_pass_may_be_bounded() -> None:
    clusters = [[HourlyJob(0, 10, 1000), HourlyJob(0, 1, 10), HourlyJob(0, 1, 10)], []]
    free = idle_core_h(clusters, Migration())
    assert free - idle_core_h(clusters, Migration(copy_h=4)) == 8
    assert run_clusters(clusters, 10, Migration(per_pass=1)).wait_h == 1 / 3


def test_hours_beyond_the_horizon_are_not_counted() -> None:
    assert idle_core_h([[HourlyJob(HORIZON_H - 1, 10, 500)]], None) == 10 * (HORIZON_H - 1)


def test_the_draws_are_those_of_the_reference() -> None:
    jobs = draw_clusters(1, (1, 50), (1, 10), 0.9, [1.0] * 2, 1000)
    asked = [sum(job.cores * job.hours for job in cluster) for cluster in jobs]
    assert all(900_000 <= core_h < 900_000 + 500 for core_h in asked)
    assert all(cluster == sorted(cluster, key=lambda job: job.submit_h) for cluster in jobs)
    assert jobs == draw_clusters(1, (1, 50), (1, 10), 0.9, [1.0] * 2, 1000)
    assert jobs != draw_clusters(2, (1, 50), (1, 10), 0.9, [1.0] * 2, 1000)
    assert {job.user for job in draw_users(1, (1, 20), (1, 10), 0.9, 3000)} == set(range(30))


@pytest.mark.parametrize("migration", [None, Migration()])
def test_no_core_is_used_twice(migration: Migration | None) -> None:
    jobs = draw_clusters(3, (1, 9), (1, 30), 1.0, [1.0] * 3, 10)
    assert 0 <= run_clusters(jobs, 10, migration).idle <= 1
