"""Keeping the screen's thread from waiting for the poller's: short turns, and no long walks of Python's collector.

Threads of Python take turns. A turn of 5 ms each, as Python has it, adds up to what one notices after a key; and a
collection of unreachable cycles walks all objects in one turn, a second long for a hundred thousand jobs. What a poll
has made holds no cycles, so it is put out of the collector's sight; a whole collection happens seldom.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_TURN_S = 0.0005
_COLLECT_AGAIN_S = 1800.0


def take_short_turns() -> None:
    """For the whole process, once."""
    sys.setswitchinterval(_TURN_S)


class Collector:
    """Python's collector beside polls that make and drop very many objects."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._collected_s = clock()

    @contextmanager
    def out_of_sight(self) -> Iterator[None]:
        """What is made within is not walked, neither meanwhile nor later, but for a whole collection now and then."""
        if self._clock() - self._collected_s >= _COLLECT_AGAIN_S:
            gc.unfreeze()
            gc.collect()
            self._collected_s = self._clock()
        gc.collect(1)
        gc.disable()
        try:
            yield
        finally:
            gc.freeze()
            gc.enable()
