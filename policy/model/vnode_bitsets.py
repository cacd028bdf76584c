"""Sets of vnodes as integers: counting, splitting and building them.

:func:`each_bit` costs the length of the whole integer for each vnode: right for a handful, wrong for thousands. The
other functions pass over the integer once, or in as many steps as its length has binary digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Callable, Final

_bit_count: Callable[[int], int] | None = getattr(int, "bit_count", None)


def _count_bits_39(mask: int) -> int:
    return bin(mask).count("1")


count_vnodes: Final[Callable[[int], int]] = _bit_count or _count_bits_39
"""The number of vnodes in a set (``int.bit_count`` exists from Python 3.10 on)."""


_ONE_BY_ONE: Final = 10
"""So many vnodes at most are taken one by one: above that, halving the integer takes fewer steps."""


def lowest(mask: int, count: int) -> int:
    """The first ``count`` vnodes of a set, which must have at least that many."""
    if count == 1:
        return mask & -mask
    if count <= _ONE_BY_ONE:
        rest = mask
        for _ in range(count):
            rest &= rest - 1
        return mask ^ rest
    low, high = count, mask.bit_length()
    while low < high:
        middle = (low + high) >> 1
        if count_vnodes(mask & ((1 << middle) - 1)) < count:
            low = middle + 1
        else:
            high = middle
    return mask & ((1 << low) - 1)


def each_bit(mask: int) -> Iterable[int]:
    """The vnodes of a set one by one, in order, each as a set of one."""
    while mask:
        low = mask & -mask
        yield low
        mask ^= low


def indices_of(mask: int) -> list[int]:
    """The vnodes of a set as indices, lowest first."""
    if not mask & (mask - 1):
        return [mask.bit_length() - 1] if mask else []
    digits = bin(mask)[:1:-1]
    found: list[int] = []
    index = digits.find("1")
    while index >= 0:
        found.append(index)
        index = digits.find("1", index + 1)
    return found


def mask_of(indices: Iterable[int]) -> int:
    """The set of the vnodes with these indices, given in any order."""
    listed = list(indices)
    held = bytearray(max(listed, default=0) // 8 + 1)
    for index in listed:
        held[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(held, "little")
