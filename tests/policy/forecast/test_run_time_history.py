"""Run times are drawn from the runs most like the job, and never exceed what it asked for."""

from __future__ import annotations

from policy import Finished
from policy.forecast.run_time_history import KEPT, RunTimeHistory
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from tests.policy.clusters import job


def ended(took_s: float, user: str = "alice", asked_s: float = 100, cores: int = 1, application: str = "") -> Finished:
    return Finished("1", user, application, cores, 0, took_s, asked_s)


def test_nothing_known_is_the_asked_time() -> None:
    assert RunTimeHistory().run_times(job("1")) == (100,)


def test_the_users_share_of_the_asked_time_is_carried_over() -> None:
    history = RunTimeHistory([ended(50, asked_s=200), ended(20, asked_s=200), ended(99, "bob"), ended(98, "bob")])
    assert list(history.run_times(job("1", estimate_s=100))) == [10, 25]


def test_runs_with_the_same_asked_time_and_cores_come_before_the_users_others() -> None:
    others = [ended(100, asked_s=200), ended(100, asked_s=200)]
    history = RunTimeHistory([ended(10), ended(20), *others])
    assert list(history.run_times(job("1"))) == [20, 10]
    assert len(history.run_times(job("1", estimate_s=300))) == 4


def test_runs_of_the_application_come_before_the_users_others() -> None:
    of_it = [ended(10, asked_s=200, application="cfd"), ended(30, asked_s=300, application="cfd")]
    history = RunTimeHistory([*of_it, ended(90), ended(90)])
    assert list(history.run_times(job("1", estimate_s=1000, application="cfd"))) == [100, 50]


def test_a_user_without_runs_is_like_the_site() -> None:
    history = RunTimeHistory([ended(10, "bob"), ended(30, "carol")])
    assert list(history.run_times(job("1", "alice"))) == [30, 10]


def test_a_run_under_way_is_drawn_only_from_longer_ones() -> None:
    history = RunTimeHistory([ended(took_s) for took_s in (10, 40, 60, 80)])
    assert list(history.run_times(job("1"), elapsed_s=50)) == [80, 60]


def test_a_run_that_outlasts_all_others_takes_its_asked_time() -> None:
    history = RunTimeHistory([ended(10), ended(20)])
    assert history.run_times(job("1"), elapsed_s=50) == (100,)


def test_a_run_beyond_its_asked_time_counts_as_one_that_used_it_up() -> None:
    assert list(RunTimeHistory([ended(120), ended(130)]).run_times(job("1"))) == [100, 100]


def test_without_walltime_the_seconds_of_others_without_one_count() -> None:
    history = RunTimeHistory([ended(5000, asked_s=UNLIMITED_S), ended(20), ended(7000, asked_s=UNLIMITED_S)])
    assert list(history.run_times(job("1", estimate_s=UNLIMITED_S))) == [7000, 5000]
    assert RunTimeHistory([ended(20)]).run_times(job("1", estimate_s=UNLIMITED_S)) == ()


def test_only_the_last_runs_are_kept() -> None:
    history = RunTimeHistory([ended(took_s / 2) for took_s in range(KEPT + 50)])
    assert len(history.run_times(job("1"))) == KEPT
    assert history.run_times(job("1"))[0] == (KEPT + 49) / 2
