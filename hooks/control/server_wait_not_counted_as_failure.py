"""Times the server's replies to a pass, so that a pass that waited for a busy server does not count as failed.

The server does one thing after another: while it deletes thousands of jobs, it answers no other request. A pass that
waits meanwhile is cut off by the alarm of its hook through no fault of its own.
"""

from __future__ import annotations

import time
from typing import Any, Callable

_CALLS = "pbs_"


class TimedServerCalls:
    """The module ``pbs_ifl`` with its requests timed. ``longest_s``: the duration of the longest request, including one
    under way when it is interrupted; ``longest``: its name."""

    def __init__(self, pbs_ifl: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._ifl = pbs_ifl
        self._clock = clock
        self.longest = ""
        self.longest_s = 0.0

    def forget(self) -> None:
        """Forget the times measured so far; called as a pass begins."""
        self.longest, self.longest_s = "", 0.0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ifl, name)
        if not name.startswith(_CALLS) or not callable(found):
            return found

        def ask(*given: Any) -> Any:
            begun_s = self._clock()
            try:
                return found(*given)
            finally:
                took_s = self._clock() - begun_s
                if took_s > self.longest_s:
                    self.longest, self.longest_s = name, took_s

        # Later look-ups find the attribute without coming here.
        setattr(self, name, ask)
        return ask
