"""A deadline in seconds of a machine that is not overcommitted: where more processes want to run than there are cores,
its time passes more slowly. So a wait fails for what does not happen, and not for what other tests take from it.
"""

from __future__ import annotations

import os
import time


def crowding() -> float:
    """How many times longer than on an idle machine things take now: at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Deadline:
    """A number of seconds from now on, as they pass on an idle machine."""

    def __init__(self, within_s: float) -> None:
        self._left_s = within_s
        self._looked_s = time.monotonic()

    def has_passed(self) -> bool:
        """Whether the time is over. Each call counts the time since the one before by the load at its own moment."""
        now_s = time.monotonic()
        self._left_s -= (now_s - self._looked_s) / crowding()
        self._looked_s = now_s
        return self._left_s < 0
