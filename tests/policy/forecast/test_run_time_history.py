"""Run times are drawn from the runs most like the job, and never exceed what it asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from policy import Finished
from policy.forecast.run_time_history import KEPT, OF_NEWER, TIMES, WIDER, RunTimeHistory
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from tests.policy.clusters import job


def ended(took_s: float, user: str = "alice", asked_s: float = 100, cores: int = 1, application: str = "") -> Finished:
    return Finished("1", user, application, cores, 0, took_s, asked_s)


def test_nothing_known_is_the_asked_time() -> None:
    assert RunTimeHistory().run_times(job("1")) == (100,)


def shares(times_s: Sequence[float]) -> dict[float, float]:
    """Which part of the run times is which."""
    return {time_s: list(times_s).count(time_s) / len(times_s) for time_s in sorted(set(times_s))}


def test_the_users_share_of_the_asked_time_is_carried_over() -> None:
    history = RunTimeHistory([ended(50, asked_s=200), ended(20, asked_s=200)])
    assert list(shares(history.run_times(job("1", estimate_s=100)))) == [10, 25]


def test_a_users_many_runs_outweigh_the_sites() -> None:
    history = RunTimeHistory([*[ended(20)] * 50, *[ended(90, "bob")] * 50])
    # 50 runs weigh 18.5, the newest most; each of the user's three kinds has 18.5 / (18.5 + 5) of what is left.
    site = 1 - 18.46 / (18.46 + WIDER)
    # Of the site's last 100 runs bob's 50 are the newer ones.
    of_bob = site**3 / (1 + OF_NEWER**50)
    assert shares(history.run_times(job("1"))).get(90, 0) == pytest.approx(of_bob, abs=1 / TIMES)
    assert shares(history.run_times(job("1", "carol")))[90] == pytest.approx(1 / (1 + OF_NEWER**50), abs=1 / TIMES)


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
    of_newer = 1 / (1 + OF_NEWER)
    assert shares(history.run_times(job("1", "alice"))) == {10: pytest.approx(1 - of_newer, abs=0.01), 30: 0.51}


def test_a_run_under_way_is_drawn_only_from_longer_ones() -> None:
    history = RunTimeHistory([ended(took_s) for took_s in (10, 40, 60, 80)])
    assert list(shares(history.run_times(job("1"), elapsed_s=50))) == [60, 80]


def test_a_run_that_outlasts_all_others_takes_its_asked_time() -> None:
    history = RunTimeHistory([ended(10), ended(20)])
    assert history.run_times(job("1"), elapsed_s=50) == (100,)


def test_a_run_beyond_its_asked_time_counts_as_one_that_used_it_up() -> None:
    assert shares(RunTimeHistory([ended(120), ended(130)]).run_times(job("1"))) == {100: 1}


def test_without_walltime_the_seconds_of_others_without_one_count() -> None:
    history = RunTimeHistory([ended(5000, asked_s=UNLIMITED_S), ended(20), ended(7000, asked_s=UNLIMITED_S)])
    assert list(shares(history.run_times(job("1", estimate_s=UNLIMITED_S)))) == [5000, 7000]
    assert RunTimeHistory([ended(20)]).run_times(job("1", estimate_s=UNLIMITED_S)) == ()


def test_only_the_last_runs_are_kept() -> None:
    history = RunTimeHistory([ended(1), *[ended(50)] * KEPT])
    assert shares(history.run_times(job("1"))) == {50: 1}


def test_what_is_added_later_counts_from_then_on() -> None:
    history = RunTimeHistory([ended(10)])
    assert shares(history.run_times(job("1"))) == {10: 1}
    history.remember([ended(60)])
    assert list(shares(history.run_times(job("1")))) == [10, 60]
