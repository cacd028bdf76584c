"""Strategies that are made once for all draws from them. Where a draw makes one anew, hypothesis checks and labels it
anew too, which takes several times as long as drawing from it.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from hypothesis import strategies as st

Value = TypeVar("Value")


def sampled_from(values: tuple[Value, ...]) -> st.SearchStrategy[Value]:
    """One of the values, which are hashable: the same strategy for the same values."""
    # True and 1 are equal, and so are tuples of them.
    return _sampled_from(values, repr(values))


@cache
def _sampled_from(values: tuple[Value, ...], _: str) -> st.SearchStrategy[Value]:
    return st.sampled_from(values)
