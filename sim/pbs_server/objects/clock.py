"""The simulated time: events in order of time, then in the order in which they were added.

Nothing here sleeps. The owner moves the clock, and each event runs with the clock at its own time.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

Action = Callable[[], None]


class Clock:
    """Starts at `now_s`, in seconds since 1970, and never goes back."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self._events: list[tuple[float, int, Action]] = []
        self._count = 0

    def at(self, time_s: float, action: Action) -> None:
        """Call `action` when the clock reaches `time_s`; for a time in the past, next."""
        self._count += 1
        heappush(self._events, (max(time_s, self.now_s), self._count, action))

    def after(self, delay_s: float, action: Action) -> None:
        """Call `action` in `delay_s` seconds."""
        self.at(self.now_s + delay_s, action)

    @property
    def next_s(self) -> float:
        """The time of the next event; infinite without one."""
        return self._events[0][0] if self._events else float("inf")

    def fire_next(self) -> None:
        """Move to the next event and call it. There must be one."""
        self.now_s, _, action = heappop(self._events)
        action()

    def run_until(self, time_s: float) -> None:
        """Call all events up to and at `time_s`, then set the clock to it."""
        while self.next_s <= time_s:
            self.fire_next()
        self.now_s = max(self.now_s, time_s)
