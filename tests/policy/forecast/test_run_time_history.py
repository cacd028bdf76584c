"""Run times are drawn from the runs most like the job, and never exceed what it asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policy import Finished
from policy.forecast.run_time_history import KEPT, TIMES, UNSEEN, WIDER, RunTimeHistory
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from tests.policy.clusters import job


def ended(took_s: float, user: str = "alice", asked_s: float = 100, cores: int = 1, application: str = "") -> Finished:
    return Finished("1", user, application, cores, 0, took_s, asked_s)


def test_nothing_known_is_the_asked_time() -> None:
    assert RunTimeHistory().run_times(job("1")) == (100,)


def shares(times_s: Sequence[float]) -> dict[float, float]:
    """Which part of the run times is which."""
    return {time_s: list(times_s).count(time_s) / len(times_s) for time_s in sorted(set(times_s))}


def commonest(times_s: Sequence[float], count: int) -> list[float]:
    """The run times that are drawn most often, in ascending order."""
    of_each = shares(times_s)
    return sorted(sorted(of_each, key=lambda time_s: -of_each[time_s])[:count])


def test_the_users_share_of_the_asked_time_is_carried_over() -> None:
    history = RunTimeHistory([ended(50, asked_s=200), ended(20, asked_s=200)])
    assert commonest(history.run_times(job("1", estimate_s=100)), 2) == [10, 25]


def test_a_users_many_runs_outweigh_the_sites() -> None:
    history = RunTimeHistory([*[ended(20)] * 50, *[ended(90, "bob")] * 50])
    # 50 runs weigh 18.5, the newest most. The user's three kinds have the same runs and count once.
    site = 1 - 18.46 / (18.46 + WIDER)
    of_bob = 50 / (100 + UNSEEN)
    assert shares(history.run_times(job("1")))[90] == pytest.approx(site * of_bob, abs=1 / TIMES)
    assert shares(history.run_times(job("1", "carol")))[90] == pytest.approx(of_bob, abs=1 / TIMES)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_few_equal_runs_of_a_user_leave_a_margin_as_wide_as_the_site_has_it(count: int) -> None:
    site = [ended(took_s, user=f"u{took_s}") for took_s in range(1, 100)]
    times_s = RunTimeHistory([*site, *[ended(30)] * count]).run_times(job("1"))
    assert times_s[TIMES // 2] == 30
    assert 40 < times_s[TIMES * 9 // 10] < 90
    many_s = RunTimeHistory([*site, *[ended(30)] * KEPT]).run_times(job("1"))
    assert many_s[TIMES // 2] == many_s[TIMES * 9 // 10] == 30


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_runs_of_the_whole_site_are_no_certainty(count: int) -> None:
    times_s = RunTimeHistory([ended(30)] * count).run_times(job("1"))
    assert times_s[TIMES // 2] == 30
    assert times_s[TIMES * 9 // 10] > 40
    assert max(times_s) < 100


def test_without_walltime_no_time_beside_those_known_is_drawn() -> None:
    history = RunTimeHistory([ended(5000, asked_s=UNLIMITED_S)] * 2)
    assert shares(history.run_times(job("1", estimate_s=UNLIMITED_S))) == {5000: 1}


def test_runs_with_the_same_asked_time_and_cores_count_more_than_the_users_others() -> None:
    history = RunTimeHistory([*[ended(10)] * 10, *[ended(160, asked_s=200)] * 10])
    of_same = shares(history.run_times(job("1")))
    of_other = shares(history.run_times(job("1", estimate_s=200)))
    assert of_same[10] > 0.6
    assert of_other[160] > 0.6


def test_runs_of_the_application_count_more_than_the_users_others() -> None:
    of_it = [ended(10, asked_s=200, application="cfd")] * 10
    history = RunTimeHistory([*of_it, *[ended(90)] * 10])
    assert shares(history.run_times(job("1", estimate_s=1000, application="cfd")))[50] > 0.6


def test_a_user_without_runs_is_like_the_site() -> None:
    history = RunTimeHistory([ended(10, "bob"), ended(30, "carol")])
    times_s = history.run_times(job("1", "alice"))
    assert commonest(times_s, 2) == [10, 30]
    assert shares(times_s)[10] == pytest.approx(1 / (2 + UNSEEN), abs=1 / TIMES)


def test_a_run_under_way_is_drawn_only_from_longer_ones() -> None:
    history = RunTimeHistory([ended(took_s) for took_s in (10, 40, 60, 80)])
    times_s = history.run_times(job("1"), elapsed_s=50)
    assert commonest(times_s, 2) == [60, 80]
    assert min(times_s) > 50


def test_a_run_that_outlasts_all_others_takes_its_asked_time() -> None:
    history = RunTimeHistory([ended(10), ended(20)])
    assert history.run_times(job("1"), elapsed_s=99) == (100,)


def test_a_run_beyond_its_asked_time_counts_as_one_that_used_it_up() -> None:
    assert max(shares(RunTimeHistory([ended(120), ended(130)]).run_times(job("1")))) == 100


def test_without_walltime_the_seconds_of_others_without_one_count() -> None:
    history = RunTimeHistory([ended(5000, asked_s=UNLIMITED_S), ended(20), ended(7000, asked_s=UNLIMITED_S)])
    assert list(shares(history.run_times(job("1", estimate_s=UNLIMITED_S)))) == [5000, 7000]
    assert RunTimeHistory([ended(20)]).run_times(job("1", estimate_s=UNLIMITED_S)) == ()


def test_only_the_last_runs_are_kept() -> None:
    history = RunTimeHistory([ended(1), *[ended(50)] * KEPT])
    assert 1 not in shares(history.run_times(job("1")))


def test_what_is_added_later_counts_from_then_on() -> None:
    history = RunTimeHistory([ended(10)])
    assert commonest(history.run_times(job("1")), 1) == [10]
    history.remember([ended(60)])
    assert commonest(history.run_times(job("1")), 2) == [10, 60]
