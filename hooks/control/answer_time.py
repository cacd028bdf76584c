"""How long the server took to answer a pass, so that a pass which PBS cuts off is told from one that fails.

The server does one thing after another: while it deletes thousands of jobs, it answers no other request. A pass that
waits for it meanwhile is cut off by the alarm of its hook, through no fault of its own.
"""

from __future__ import annotations

import time
from typing import Any, Callable

_CALLS = "pbs_"


class Watched:
    """The module ``pbs_ifl``, with the time that its requests take: ``longest_s`` is that of the longest one, the one
    under way when it is interrupted included, and ``longest`` what it is called."""

    def __init__(self, pbs_ifl: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._ifl = pbs_ifl
        self._clock = clock
        self.longest = ""
        self.longest_s = 0.0

    def forget(self) -> None:
        """Another pass begins."""
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

        # The next look-up finds it at once.
        setattr(self, name, ask)
        return ask
