"""Requests to the server, one after another while there is time: each is independent, and errors are collected."""

from __future__ import annotations

import time
from typing import Callable, Final, TypeVar

from hooks.pbs.client.pbs_ifl_client import IflError

T = TypeVar("T")

_NOT_DONE: Final = object()


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


def attempt(request: Callable[[], None]) -> IflError | None:
    """Make a request; returns the server's refusal, None if it executed the request."""
    try:
        request()
    except IflError as error:
        return error
    return None


class Requests:
    """The results of the requests so far: ``failures`` are sentences, ``put_off`` counts requests dropped for lack of
    time. Without a budget none is dropped."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget
        self.failures: list[str] = []
        self.put_off = 0

    def run(self, request: Callable[[], object]) -> bool:
        """Make a request if there is time left; returns whether the server executed it."""
        return self.read(request, _NOT_DONE) is not _NOT_DONE

    def read(self, request: Callable[[], T], otherwise: T) -> T:
        """The reply to a request; ``otherwise`` if there was no time left, or the server refused it."""
        if self._budget is not None and self._budget.left_s() <= 0:
            self.put_off += 1
            return otherwise
        try:
            return request()
        except IflError as error:
            self.failures.append(str(error))
            return otherwise
