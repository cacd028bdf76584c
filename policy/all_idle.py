"""What a cluster holds if all its vnodes were idle: whether a request could ever be arranged there.

Counting pieces tells it of equal pieces on any vnodes. Whether pieces find a host together, a host each, or a group has
to be tried, once for each kind of request: the vnodes stay what they are whatever runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

from policy.capacity import Capacity
from policy.cluster import Vnode
from policy.fitting import fits
from policy.request import Request

MOST_REMEMBERED = 1 << 14
"""So many answers are remembered at most."""


class AllIdle:
    """Vnodes of which only what PBS itself reports as used is taken. ``capacity`` is not to be changed."""

    __slots__ = ("_arranged", "capacity")

    def __init__(self, vnodes: Mapping[str, Vnode]) -> None:
        self.capacity = Capacity(vnodes)
        self._arranged: dict[tuple[Request, int], bool] = {}

    def arranges(self, request: Request, vnodes: int, check_time: Callable[[], None] | None) -> bool:
        """Whether the request fits these vnodes, those of them that take jobs, in the arrangement that it asks for.
        Finding out calls ``check_time``, as other searches of a pass do."""
        key = (request, vnodes)
        known = self._arranged.get(key)
        if known is None:
            if len(self._arranged) >= MOST_REMEMBERED:
                self._arranged.clear()
            self.capacity.check_time = check_time
            try:
                known = self._arranged[key] = fits(self.capacity, request, vnodes)
            finally:
                self.capacity.check_time = None
        return known
