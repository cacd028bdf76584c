"""Requests to the server made one after another while there is time: each stands alone, and what went wrong is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from hooks.ifl import IflError

if TYPE_CHECKING:
    from hooks.carry import Budget


class Errands:
    """What came of the requests so far: ``failures`` are sentences, ``put_off`` counts what there was no time for."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.failures: list[str] = []
        self.put_off = 0

    def run(self, request: Callable[[], None]) -> bool:
        """Make a request if there is time left; whether the server did it."""
        if self._budget.left_s() <= 0:
            self.put_off += 1
            return False
        try:
            request()
        except IflError as error:
            self.failures.append(str(error))
            return False
        return True
