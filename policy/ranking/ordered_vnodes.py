"""A list of vnodes ordered by a number each, highest first, ties by name; numbers can change.

The list is in blocks, each with the set of its vnodes: a walk over a few vnodes skips blocks without any, and a changed
number moves one vnode between two short blocks. Nothing is sorted before the first walk.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from policy.model.vnode_bitsets import mask_of

_FULL = 128
"""A block longer than this is split in two."""

_Pair = tuple[float, int]


class RankedList:
    """Indices of vnodes ordered by their numbers (never ``nan``). ``bits``: by index, the vnode as a set of one."""

    __slots__ = ("_bits", "_blocks", "_lasts", "_masks", "_numbers", "_sorted")

    def __init__(self, numbers: dict[int, float], bits: Sequence[int]) -> None:
        self._bits = bits
        self._numbers = numbers
        self._sorted = False
        self._blocks: list[list[_Pair]] = []
        self._lasts: list[_Pair] = []
        self._masks: list[int | None] = []

    def number(self, index: int) -> float | None:
        """The vnode's number; None if it is not in the list."""
        return self._numbers.get(index)

    def put(self, index: int, number: float) -> None:
        """Set the vnode's number; adds the vnode if it is not in the list."""
        if self._numbers.get(index) == number:
            return
        self.drop(index)
        self._numbers[index] = number
        if not self._sorted:
            return
        pair = (-number, index)
        if not self._blocks:
            self._blocks, self._lasts, self._masks = [[pair]], [pair], [None]
            return
        at = min(bisect_left(self._lasts, pair), len(self._blocks) - 1)
        block = self._blocks[at]
        insort(block, pair)
        if len(block) > _FULL:
            half = len(block) // 2
            self._blocks[at : at + 1] = [block[:half], block[half:]]
            self._lasts[at : at + 1] = [block[half - 1], block[-1]]
            self._masks[at : at + 1] = [None, None]
        else:
            mask = self._masks[at]
            self._lasts[at] = block[-1]
            self._masks[at] = None if mask is None else mask | self._bits[index]

    def drop(self, index: int) -> None:
        """Remove the vnode, if it is in the list."""
        number = self._numbers.pop(index, None)
        if number is None or not self._sorted:
            return
        pair = (-number, index)
        at = bisect_left(self._lasts, pair)
        block = self._blocks[at]
        del block[bisect_left(block, pair)]
        if block:
            mask = self._masks[at]
            self._lasts[at] = block[-1]
            self._masks[at] = None if mask is None else mask ^ self._bits[index]
        else:
            del self._blocks[at], self._lasts[at], self._masks[at]

    def within(self, vnodes: int) -> Iterator[int]:
        """The vnodes of the list that are in this set, one by one, as sets of one, highest number first. Do not change
        the list meanwhile."""
        if not self._sorted:
            self._sort()
        bits, masks = self._bits, self._masks
        for at, block in enumerate(self._blocks):
            mask = masks[at]
            if mask is None:
                mask = masks[at] = mask_of(index for _, index in block)
            here = mask & vnodes
            if here & (here - 1):
                for _, index in block:
                    if here & bits[index]:
                        yield bits[index]
            elif here:
                yield here

    def _sort(self) -> None:
        numbers = self._numbers
        # A stable sort that begins with the lowest index keeps equal numbers in the order of their names.
        order = sorted(sorted(numbers), key=numbers.__getitem__, reverse=True)
        pairs = [(-numbers[index], index) for index in order]
        half = _FULL // 2
        self._blocks = [pairs[at : at + half] for at in range(0, len(pairs), half)]
        self._lasts = [block[-1] for block in self._blocks]
        self._masks = [None] * len(self._blocks)
        self._sorted = True
