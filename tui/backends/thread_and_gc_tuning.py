"""Keeps the screen responsive beside the poller: short time slices for threads, and few full garbage collections.

Threads switch every 5 ms by default, which adds up to a visible delay after a key; a full collection takes a second for
100,000 jobs, without a switch. So objects of a poll, which form no cycles, are frozen (``gc.freeze``), and a full
collection runs only after a long time or when the frozen objects have doubled.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SWITCH_INTERVAL_S = 0.0005
_COLLECT_AGAIN_S = 1800.0
_COUNT_AGAIN_S = 60.0
_LEAST_FROZEN = 200_000


def shorten_switch_interval() -> None:
    """Shorten Python's thread switch interval; once per process."""
    sys.setswitchinterval(_SWITCH_INTERVAL_S)


class Collector:
    """Controls Python's garbage collector around code that makes and drops very many objects."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._collected_s = self._counted_s = clock()
        self._most = _LEAST_FROZEN
        self._lock = threading.Lock()
        self._within = 0

    @contextmanager
    def frozen_objects(self) -> Iterator[None]:
        """Freezes the objects that are made within: only an occasional full collection looks at them."""
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
        """Collect the young objects, or all objects if that is due."""
        if not self._is_due():
            gc.collect(1)
            return
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._collected_s = self._counted_s = self._clock()
        self._most = max(_LEAST_FROZEN, 2 * gc.get_freeze_count())

    def _is_due(self) -> bool:
        now_s = self._clock()
        if now_s - self._collected_s >= _COLLECT_AGAIN_S:
            return True
        if now_s - self._counted_s < _COUNT_AGAIN_S:
            return False
        self._counted_s = now_s
        return gc.get_freeze_count() > self._most


COLLECTOR = Collector()
"""The collector of this process."""
