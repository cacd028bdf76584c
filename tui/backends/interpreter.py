"""Keeping the screen's thread from waiting for the poller's: short turns, and no long walks of Python's collector.

Threads of Python take turns. A turn of 5 ms each, as Python has it, adds up to what one notices after a key; and a
collection of unreachable cycles walks all objects in one turn, a second long for a hundred thousand jobs. What a poll
has made holds no cycles, and what a simulated cluster makes hardly any, so both are put out of the collector's sight. A
whole collection happens seldom, and where what is out of sight has become twice as much, since then much of it may be
garbage. There is one collector, for all threads of the process.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_TURN_S = 0.0005
_COLLECT_AGAIN_S = 1800.0
_COUNT_AGAIN_S = 60.0
_LEAST_OUT_OF_SIGHT = 200_000


def take_short_turns() -> None:
    """For the whole process, once."""
    sys.setswitchinterval(_TURN_S)


class Collector:
    """Python's collector beside threads that make and drop very many objects."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._collected_s = self._counted_s = clock()
        self._most = _LEAST_OUT_OF_SIGHT
        self._lock = threading.Lock()
        self._within = 0

    @contextmanager
    def out_of_sight(self) -> Iterator[None]:
        """What is made within is not walked, neither meanwhile nor later, but for a whole collection now and then."""
        with self._lock:
            if not self._within:
                self._collect()
                gc.disable()
            self._within += 1
        try:
            yield
        finally:
            with self._lock:
                self._within -= 1
                gc.freeze()
                if not self._within:
                    gc.enable()

    def _collect(self) -> None:
        """What is young, and all where that is due."""
        if not self._is_due():
            gc.collect(1)
            return
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._collected_s = self._counted_s = self._clock()
        self._most = max(_LEAST_OUT_OF_SIGHT, 2 * gc.get_freeze_count())

    def _is_due(self) -> bool:
        now_s = self._clock()
        if now_s - self._collected_s >= _COLLECT_AGAIN_S:
            return True
        if now_s - self._counted_s < _COUNT_AGAIN_S:
            return False
        self._counted_s = now_s
        return gc.get_freeze_count() > self._most


COLLECTOR = Collector()
"""That of this process."""
