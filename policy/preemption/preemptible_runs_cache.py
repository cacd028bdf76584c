"""Cache of the runs that the rules let a job take, until something changes (docs/policies.md, P1 and P2).

That sequence depends on the job's owner and class, not on its request, so jobs that preempt no run share one sequence,
and jobs with the same request share one search.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Callable

from policy.eligibility.soft_quotas import Quotas
from policy.model.jobs_runs_vnodes_queues import Run
from policy.state.vnodes_by_idle_cores import Capacity


class PreemptibleRuns:
    """The runs offered in sequence, each tested with those before it gone. Each run is tested once, however often the
    sequence is read, as long as nothing else changes."""

    def __init__(self, ordered: Iterable[Run], is_offered: Callable[[Run], bool], quotas: Quotas) -> None:
        self._coming = iter(ordered)
        self._is_offered = is_offered
        self._quotas = quotas
        self._known: list[Run] = []
        self._ended = False

    def offered(self) -> int:
        """How many runs are offered in all, each with those before it gone."""
        if not self._ended:
            for _ in self.runs():
                pass
        return len(self._known)

    def runs(self) -> Generator[Run, None, None]:
        """The runs in order. From the first test of a run until the iterator is closed, the runs yielded so far are
        subtracted from the use of quotas."""
        known, quotas = self._known, self._quotas
        yield from known[:]
        if self._ended:
            return
        for run in known:
            quotas.shift(run.job, -1, run.allocation)
        try:
            for run in self._coming:
                if self._is_offered(run):
                    quotas.shift(run.job, -1, run.allocation)
                    known.append(run)
                    yield run
            self._ended = True
        finally:
            for run in known:
                quotas.shift(run.job, 1, run.allocation)


class PreemptibleRunsCache:
    """What was found since the use of quotas, the victims and the starts changed last."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._counts: tuple[int, int, int] | None = None
        self._booked: Mapping[object, object] = {}
        self._free: Capacity | None = None
        self._failed: set[object] = set()
        self.sequences: dict[object, PreemptibleRuns] = {}
        # By index in its pool, whether each run is offered if no other run is gone.
        self.singles: dict[object, dict[int, bool]] = {}
        # The runs that are offered if no other run is gone, in the order of the sequence.
        self.alone: dict[object, list[Run]] = {}

    def renew(self, picked: int, promised: int, starts: int) -> None:
        """Clear the cache if the use, the number of victims or of promised starts, or the planned starts have
        changed."""
        if self._counts != (picked, promised, starts) or not self._quotas.is_booked_like(self._booked):
            self.forget()
            self._counts = (picked, promised, starts)
            self._booked = self._quotas.booked()

    def forget(self) -> None:
        """Clear the cache."""
        self._counts = None
        self._free = None
        self._failed.clear()
        self.sequences.clear()
        self.singles.clear()
        self.alone.clear()

    def has_failed(self, shape: object, free: Capacity) -> bool:
        """Whether no victims were found for a job of this shape with the same resources free."""
        return shape in self._failed and self._free is not None and free.is_like(self._free)

    def note_failed(self, shape: object, free: Capacity) -> None:
        """Note that no victims were found for a job of this shape."""
        if self._free is None or not free.is_like(self._free):
            self._failed.clear()
            self._free = free.copy()
        self._failed.add(shape)
