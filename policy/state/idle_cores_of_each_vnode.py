"""The idle cores of each vnode, by its index in the directory; changes of many vnodes at once wait for the next query.

Windows take from many vnodes and give back the same, which then costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.model.vnode_bitsets import indices_of

_MOST_WAITING = 64
"""Further changes of many vnodes at once are not noted: to count anew is cheaper."""


class IdleOfEach:
    """The idle cores of every vnode in order (negative where it is overcommitted).

    ``cores`` are those without the changes that are ``waiting``: sets of vnodes, each with what is added to all of it.
    """

    __slots__ = ("cores", "waiting")

    def __init__(self, cores: list[int]) -> None:
        self.cores = cores
        self.waiting: list[tuple[int, int]] = []

    def copy(self) -> IdleOfEach:
        """An independent copy."""
        twin = IdleOfEach(list(self.cores))
        twin.waiting = list(self.waiting)
        return twin

    def add_to_many(self, vnodes: int, by: int) -> bool:
        """Let a change wait: ``by`` (which may be negative) is added to the idle cores of each of these vnodes. False
        if too many changes wait, so that the counts have to be made anew."""
        waiting = self.waiting
        if waiting and waiting[-1] == (vnodes, -by):
            waiting.pop()
        elif len(waiting) < _MOST_WAITING:
            waiting.append((vnodes, by))
        else:
            return False
        return True

    def up_to_date(self) -> Sequence[int]:
        """The idle cores with all changes made."""
        cores = self.cores
        for vnodes, by in self.waiting:
            for index in indices_of(vnodes):
                cores[index] += by
        self.waiting.clear()
        return cores
