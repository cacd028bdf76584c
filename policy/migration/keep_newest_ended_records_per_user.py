"""Drops records of ended jobs beyond a number and a size for each user, oldest first, since every change rewrites their
files.

Records of jobs with results still to be fetched are dropped last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_BYTES_OF_ONE = 4_096
"""What a record may have on average; few have a tenth of it."""


class Ended(NamedTuple):
    """The record of an ended job: whose it is, since when it has ended, its bytes, and whether results of it are kept
    elsewhere that may still come back."""

    gid: str
    whose: tuple[str, str]
    since: int
    size: int
    has_results: bool = False


def find_surplus(ended: Iterable[Ended], most: int) -> frozenset[str]:
    """The jobs whose records are dropped if a user may have ``most`` of them, of ordinary size."""
    by_user: dict[tuple[str, str], list[Ended]] = {}
    for one in ended:
        by_user.setdefault(one.whose, []).append(one)
    surplus: set[str] = set()
    for own in by_user.values():
        size = 0
        for place, one in enumerate(sorted(own, key=lambda one: (one.has_results, one.since), reverse=True)):
            size += one.size
            if place >= most or size > most * _BYTES_OF_ONE:
                surplus.add(one.gid)
    return frozenset(surplus)
