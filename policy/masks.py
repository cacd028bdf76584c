"""Sets of vnodes as integers, taken apart and put together at once.

Walking a set bit by bit, or joining it vnode by vnode, costs the length of the whole integer for each vnode: right for
a handful, wrong for thousands. These two pass over it once.
"""

from __future__ import annotations

from collections.abc import Iterable


def indices_of(mask: int) -> list[int]:
    """The vnodes of a set as indices, lowest first."""
    digits = bin(mask)[:1:-1]
    found: list[int] = []
    index = digits.find("1")
    while index >= 0:
        found.append(index)
        index = digits.find("1", index + 1)
    return found


def mask_of(indices: Iterable[int]) -> int:
    """The set of some vnodes, given as indices in any order."""
    listed = list(indices)
    held = bytearray(max(listed, default=0) // 8 + 1)
    for index in listed:
        held[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(held, "little")
