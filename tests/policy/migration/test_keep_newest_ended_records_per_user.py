"""Of too many ended records of a user the oldest are removed; other users keep theirs."""

from hypothesis import given
from hypothesis import strategies as st

from policy.migration.keep_newest_ended_records_per_user import Ended, find_surplus

ALICE, BOB = ("a", "alice"), ("a", "bob")


def test_the_oldest_of_a_user_with_too_many_give_way_and_nobody_elses() -> None:
    ended = [Ended(f"a.{number}", ALICE, number, 300) for number in range(1, 6)] + [Ended("a.9", BOB, 0, 300)]
    assert find_surplus(ended, 3) == {"a.1", "a.2"}
    assert find_surplus(ended, 5) == frozenset()


def test_few_large_records_count_as_many() -> None:
    ended = [Ended(f"a.{number}", ALICE, number, 48 << 10) for number in range(1, 6)]
    assert find_surplus(ended, 24) == {"a.1", "a.2", "a.3"}


def test_records_of_jobs_whose_results_may_come_back_go_last() -> None:
    ended = [Ended(f"a.{number}", ALICE, number, 300, has_results=number == 1) for number in range(1, 5)]
    assert find_surplus(ended, 2) == {"a.2", "a.3"}


@given(
    st.lists(st.tuples(st.sampled_from((ALICE, BOB)), st.integers(0, 9), st.integers(100, 9_000)), max_size=30),
    st.integers(1, 10),
)
def test_what_is_kept_is_within_the_bounds_and_newer_than_what_goes(
    drawn: list[tuple[tuple[str, str], int, int]], most: int
) -> None:
    ended = [Ended(f"a.{number}", *one) for number, one in enumerate(drawn, 1)]
    surplus = find_surplus(ended, most)
    for user in (ALICE, BOB):
        own = [one for one in ended if one.whose == user]
        kept = [one for one in own if one.gid not in surplus]
        assert len(kept) <= most
        assert sum(one.size for one in kept) <= most * 4_096
        assert all(one.since <= other.since for one in own if one.gid in surplus for other in kept)
