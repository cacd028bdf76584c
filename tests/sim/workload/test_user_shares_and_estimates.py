"""Generated users: uneven activity, few round estimates each, never below the run time."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sim.workload.user_shares_and_estimates import LONGEST_ESTIMATE_S, ROUND_ESTIMATES_S, User, Users


def test_the_busiest_user_submits_twice_as_much_as_the_second() -> None:
    random = Random(1)
    users = Users(random, 10)
    drawn = Counter(users.draw(random).name for _ in range(30_000))
    harmonic = sum(1 / rank for rank in range(1, 11))
    for rank, name in enumerate(("u01", "u02", "u03"), 1):
        share = 1 / rank / harmonic
        # Five standard deviations of a count of 30,000 draws.
        assert abs(drawn[name] - 30_000 * share) < 5 * (30_000 * share * (1 - share)) ** 0.5


@given(st.integers(1, 300), st.integers())
def test_users_have_names_of_their_own_and_groups_with_the_longest_estimate_last(count: int, seed: int) -> None:
    users = Users(Random(seed), count).all
    assert len({user.name for user in users}) == count
    for user in users:
        assert user.estimates_s == tuple(sorted(set(user.estimates_s)))
        assert set(user.estimates_s[:-1]) < set(ROUND_ESTIMATES_S)
        assert user.estimates_s[-1] == LONGEST_ESTIMATE_S


@given(st.integers(1, LONGEST_ESTIMATE_S), st.integers())
def test_an_estimate_is_one_of_the_users_values_and_never_too_short(run_s: int, seed: int) -> None:
    random = Random(seed)
    user = Users(random, 1).all[0]
    estimate_s = user.estimate_s(random, run_s)
    assert estimate_s in user.estimates_s
    assert estimate_s >= run_s


def test_most_estimates_are_far_too_long() -> None:
    random = Random(2)
    # With values as fine as seconds the accuracy is even from 0 to 1, so its mean is a half.
    exact = User("u", "g", tuple(range(10, 200_000)))
    accuracies = [10 / exact.estimate_s(random, 10) for _ in range(300)]
    assert abs(sum(accuracies) / 300 - 0.5) < 5 * (1 / 12 / 300) ** 0.5
