"""Requests to the server, one after another while there is time: each is independent, and errors are collected."""

from __future__ import annotations

import time
from typing import Callable

from hooks.pbs.client import IflError


class Budget:
    """Seconds until a deadline."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def left_s(self) -> float:
        """Seconds left; 0 or less when the time is up."""
        return self._deadline - time.monotonic()

    def leave(self, seconds: float) -> None:
        """Extend the deadline so that at least this many seconds are left."""
        self._deadline = max(self._deadline, time.monotonic() + seconds)


class Requests:
    """The results of the requests so far: ``failures`` are sentences, ``put_off`` counts requests dropped for lack of
    time."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.failures: list[str] = []
        self.put_off = 0

    def run(self, request: Callable[[], None]) -> bool:
        """Make a request if there is time left; returns whether the server executed it."""
        if self._budget.left_s() <= 0:
            self.put_off += 1
            return False
        try:
            request()
        except IflError as error:
            self.failures.append(str(error))
            return False
        return True
