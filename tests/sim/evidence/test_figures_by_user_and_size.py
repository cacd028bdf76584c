"""Users, sizes and losers, counted by hand."""

from __future__ import annotations

import pytest

from sim.evidence.figures_by_user_and_size import by_size, by_user, losers, size_name, size_of
from sim.evidence.gains_over_references import Reference
from sim.evidence.weeks_of_submission import ONE_WEEK
from sim.replay.job_records import JobRecord
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

ALL = set(range(10))


def waited(number: int, wait_s: float, *, cores: int = 1, user: str = "alice") -> JobRecord:
    return ran(a_job(number, 0, 100, cores, user), (wait_s, wait_s + 100))


EASY = Reference(
    a_replay(waited(1, 300), waited(2, 100, user="bob"), waited(3, 50, user="bob"), waited(4, 10, cores=9))
)
MINE = a_replay(
    waited(1, 100), waited(2, 150, user="bob"), waited(3, 200, user="bob"), waited(4, 10, cores=9), policy="mine"
)
PAIRS = EASY.pairs(MINE, ALL)


@pytest.mark.parametrize(("cores", "bound"), [(1, 1), (2, 10), (10, 10), (11, 25), (50, 50), (51, 100), (100, 100)])
def test_sizes_are_shares_of_the_machine_and_include_their_bound(cores: int, bound: int) -> None:
    assert size_of(cores, 100) == bound


def test_sizes_are_named_by_their_bounds() -> None:
    assert [size_name(1), size_name(10), size_name(100)] == ["up to 1 %", "1 to 10 %", "50 to 100 %"]


def test_each_size_has_its_jobs_and_their_gains() -> None:
    small, large = by_size(MINE.records, PAIRS, 10, ONE_WEEK, 1)
    assert (small.up_to_percent, small.jobs, small.mean_wait_s) == (10, 3, 150)
    assert small.gains["wait"].gain == 0
    assert (large.up_to_percent, large.jobs, large.mean_slowdown) == (100, 1, 1.1)


def test_a_size_that_was_not_run_by_both_has_no_gains() -> None:
    (small,) = by_size([waited(7, 5)], [], 100, ONE_WEEK, 1)
    assert (small.jobs, small.gains) == (1, {})


def test_who_waits_longer_comes_first() -> None:
    bob, alice = by_user(MINE.records, PAIRS)
    assert (bob.user, bob.jobs, bob.mean_wait_s, bob.reference_wait_s, bob.longer_s) == ("bob", 2, 175, 75, 100)
    assert (alice.user, alice.core_s, alice.longer_s) == ("alice", 100 + 900, 55 - 155)


def test_a_user_whose_jobs_the_reference_did_not_run_waits_no_longer() -> None:
    (user,) = by_user([waited(7, 5)], [])
    assert (user.paired_wait_s, user.reference_wait_s, user.longer_s) == (None, None, 0)


def test_losers_are_those_that_wait_longer_the_worst_first() -> None:
    assert [mine.job.number for mine, _ in losers(PAIRS)] == [3, 2]
