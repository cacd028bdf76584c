"""Batches: the jobs that the setting promises, and the same ones each time."""

from __future__ import annotations

from collections import Counter

import pytest

from sim.workload.random_batches import CLUSTER, HORIZON_H, LOAD, SETTINGS, USERS, Setting, draw_batch


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_jobs_are_within_the_bounds_of_their_setting(setting: Setting) -> None:
    workload = draw_batch(setting, 1)
    assert len(workload.jobs) == setting.jobs(CLUSTER, HORIZON_H)
    for job in workload.jobs:
        assert setting.cores[0] <= job.cores <= setting.cores[1] <= CLUSTER.cores // USERS
        assert setting.hours[0] * 3600 <= job.run_s <= setting.hours[1] * 3600
        assert job.run_s % 3600 == 0
        assert job.estimate_s == job.run_s
        assert 0 <= job.submit_s < HORIZON_H * 3600
    keys = [(job.submit_s, job.number) for job in workload.jobs]
    assert keys == sorted(keys)
    assert len({job.number for job in workload.jobs}) == len(workload.jobs)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_batches_offer_the_stated_load_on_average(setting: Setting) -> None:
    offered = [sum(job.cores * job.run_s for job in draw_batch(setting, number).jobs) for number in range(1, 6)]
    capacity = CLUSTER.cores * HORIZON_H * 3600
    assert sum(offered) / len(offered) / capacity == pytest.approx(LOAD, rel=0.06)


def test_the_same_number_draws_the_same_batch_and_another_another() -> None:
    assert draw_batch(SETTINGS[0], 3) == draw_batch(SETTINGS[0], 3)
    assert draw_batch(SETTINGS[0], 3).jobs != draw_batch(SETTINGS[0], 4).jobs


def test_uneven_owners_differ_more_than_chance_makes_equal_ones() -> None:
    def busiest(owners: str) -> int:
        return max(Counter(job.user for job in draw_batch(Setting((1, 20), (1, 10), owners), 1).jobs).values())

    assert busiest("uneven") > 1.3 * busiest("equal")


def test_there_are_four_sizes_and_lengths_for_each_draw_of_owners() -> None:
    assert len(SETTINGS) == len(set(SETTINGS)) == 8
    assert Counter(setting.owners for setting in SETTINGS) == {"equal": 4, "uneven": 4}
