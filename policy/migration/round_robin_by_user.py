"""Shares the work of one pass among users, so that one user's many items do not delay those of others.

Items are taken from each user in rotation (round robin). What is beyond a share waits for the next pass, which begins
with other users.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable, TypeVar

T = TypeVar("T")


def round_robin_by_user(items: Iterable[T], user_of: Callable[[T], object], most_of_one: int, most: int) -> list[T]:
    """The items of this pass: the first of each user, then the second of each, in the order in which they come; at most
    ``most_of_one`` of a user, and ``most`` in all."""
    ranks: dict[object, int] = {}
    ranked: list[tuple[int, int, T]] = []
    for place, item in enumerate(items):
        user = user_of(item)
        rank = ranks[user] = ranks.get(user, 0) + 1
        if rank <= most_of_one:
            ranked.append((rank, place, item))
    ranked.sort(key=lambda one: one[:2])
    return [item for _, _, item in ranked[:most]]


def begin_at(items: Sequence[T], start: int) -> list[T]:
    """The items from this place on, then those before it; the place may be beyond their number."""
    first = start % len(items) if items else 0
    return [*items[first:], *items[:first]]
