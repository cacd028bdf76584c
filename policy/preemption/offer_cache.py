"""What the rules offer to the jobs of a pass until something changes (docs/policies.md, P1 and P2).

Which runs are offered one after the other depends on whose the job is and on its class, not on what it asks for. So the
jobs that preempt no run share one line of runs, and those that ask for the same share one search.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Callable

from policy.eligibility.quotas import Quotas
from policy.model.cluster import Run
from policy.state.capacity import Capacity


class Line:
    """The runs offered one after the other, each asked with those before it gone. Each run is asked once, however often
    the line is gone through, as long as nothing else changes."""

    def __init__(self, ordered: Iterable[Run], is_offered: Callable[[Run], bool], quotas: Quotas) -> None:
        self._coming = iter(ordered)
        self._is_offered = is_offered
        self._quotas = quotas
        self._known: list[Run] = []
        self._ended = False

    def runs(self) -> Generator[Run, None, None]:
        """The runs in order. Those given are booked out until the iterator is closed."""
        known, quotas = self._known, self._quotas
        yield from known[:]
        if self._ended:
            return
        for run in known:
            quotas.shift(run.job, -1, run.placement)
        try:
            for run in self._coming:
                if self._is_offered(run):
                    quotas.shift(run.job, -1, run.placement)
                    known.append(run)
                    yield run
            self._ended = True
        finally:
            for run in known:
                quotas.shift(run.job, 1, run.placement)


class Standstill:
    """What was found since use, victims and promised starts changed last."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._counts: tuple[int, int] | None = None
        self._booked: Mapping[object, object] = {}
        self._free: Capacity | None = None
        self._failed: set[object] = set()
        self.lines: dict[object, Line] = {}
        # Whether each run of a pool, by its place there, is offered where no other is gone.
        self.singles: dict[object, dict[int, bool]] = {}

    def renew(self, picked: int, promised: int) -> None:
        """Forget all if use has changed, or so many victims and promised starts are not those of before."""
        if self._counts != (picked, promised) or not self._quotas.is_booked_like(self._booked):
            self.forget()
            self._counts = (picked, promised)
            self._booked = self._quotas.booked()

    def forget(self) -> None:
        """Nothing is known any more."""
        self._counts = None
        self._free = None
        self._failed.clear()
        self.lines.clear()
        self.singles.clear()

    def has_failed(self, shape: object, free: Capacity) -> bool:
        """Whether no victims were found for a job of this shape when the same was free."""
        return shape in self._failed and self._free is not None and free.is_like(self._free)

    def note_failed(self, shape: object, free: Capacity) -> None:
        """No victims were found for a job of this shape."""
        if self._free is None or not free.is_like(self._free):
            self._failed.clear()
            self._free = free.copy()
        self._failed.add(shape)
