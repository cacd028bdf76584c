"""Users take turns, so none waits behind many items of another."""

from hypothesis import given
from hypothesis import strategies as st

from policy.migration.round_robin_by_user import begin_at, round_robin_by_user

ITEMS = st.lists(st.sampled_from("abc"), max_size=30).map(lambda users: list(enumerate(users)))


def user_of(item: tuple[int, str]) -> str:
    return item[1]


def test_users_take_turns_in_the_order_in_which_their_items_come() -> None:
    assert round_robin_by_user("aaabbc", str, 2, 10) == list("abcab")
    assert round_robin_by_user("aaabbc", str, 2, 4) == list("abca")


@given(ITEMS, st.integers(1, 5), st.integers(1, 20))
def test_nobody_has_more_than_a_share_and_nobody_waits_behind_anothers_second(
    items: list[tuple[int, str]], most_of_one: int, most: int
) -> None:
    taken = round_robin_by_user(items, user_of, most_of_one, most)
    counts = {user: sum(user_of(one) == user for one in taken) for user in "abc"}
    assert len(taken) <= most
    assert max(counts.values()) <= most_of_one
    for user in "abc":
        own = [one for one in items if user_of(one) == user]
        assert [one for one in taken if user_of(one) == user] == own[: counts[user]]
        if counts[user] < min(len(own), most_of_one):
            assert max(counts.values()) <= counts[user] + 1


@given(ITEMS, st.integers(0, 1000))
def test_every_item_comes_first_once(items: list[tuple[int, str]], start: int) -> None:
    assert sorted(begin_at(items, start)) == items
    assert [begin_at(items, start + one)[0] for one in range(len(items))] == begin_at(items, start)
