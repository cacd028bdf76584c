"""Predicts run times from those of ended jobs: the share of the requested walltime that they took.

A job's run time is drawn from runs like it, of the same user and application first, then of the user, then of the site;
the more runs of a narrow kind are known, the more it counts (docs/forecast.md).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished, Job

KEPT = 100
"""How many of the last runs are kept of each kind."""

OF_NEWER = 0.95
"""The weight of a run, against the next newer one of its kind."""

WIDER = 5.0
"""The weight of all wider kinds together, in runs of this kind. A kind of n runs has n / (n + WIDER) of the weight that
the narrower kinds leave, as in a hierarchical Dirichlet process (Teh, Jordan, Beal, Blei, JASA 2006)."""

TIMES = 100
"""At most this many quantiles describe a distribution of run times."""

_Kind = tuple[object, ...]


class _Distribution:
    """Values in ascending order, and the sums of their weights up to each."""

    __slots__ = ("_above", "sums", "values")

    def __init__(self, weighted: Sequence[tuple[float, float]]) -> None:
        ordered = sorted(weighted)
        self.values = [value for value, _ in ordered]
        self.sums = list(accumulate(weight for _, weight in ordered))
        self._above: dict[int, Sequence[float]] = {}

    def above(self, value: float) -> Sequence[float]:
        """Equally likely values above ``value``; of all values if it is 0."""
        first = bisect_right(self.values, value) if value > 0 else 0
        if first not in self._above:
            self._above[first] = self._evenly(first)
        return self._above[first]

    def _evenly(self, first: int) -> Sequence[float]:
        if first == len(self.values):
            return ()
        below = self.sums[first - 1] if first else 0.0
        step = (self.sums[-1] - below) / TIMES
        if step <= 0:
            return self.values[-1:]
        last = len(self.values) - 1
        return [
            self.values[min(last, bisect_left(self.sums, below + (part + 0.5) * step, first))] for part in range(TIMES)
        ]


class RunTimeHistory:
    """The last runs of each kind. Mutable: runs are added as they end.

    Of runs with an requested walltime the share of it is kept, of those without one the seconds.
    """

    def __init__(self, finished: Iterable[Finished] = ()) -> None:
        self._past: dict[_Kind, deque[float]] = {}
        self._distributions: dict[_Kind, _Distribution] = {}
        self.remember(finished)

    def remember(self, finished: Iterable[Finished]) -> None:
        """Add runs that ended by themselves, in the order in which they ended."""
        for run in finished:
            took = max(0.0, run.end_s - run.start_s)
            if run.estimate_s != UNLIMITED_S:
                took = min(1.0, took / max(1.0, run.estimate_s))
            for kind in _kinds(run.user, run.application, run.estimate_s, run.cores):
                self._past.setdefault(kind, deque(maxlen=KEPT)).append(took)
            self._distributions.clear()

    def run_times(self, job: Job, elapsed_s: float = 0.0) -> Sequence[float]:
        """The run times that the job may have, in ascending order, each as likely as the others, if it has run for
        ``elapsed_s`` already.

        Where no run known to us lasted as long, it is what the job asked for; empty if it asked for no time.
        """
        limited = job.estimate_s != UNLIMITED_S
        unit_s = job.estimate_s if limited else 1.0
        times = [share * unit_s for share in self._distribution(job).above(elapsed_s / max(unit_s, 1.0))]
        return times or ((job.estimate_s,) if limited else ())

    def _distribution(self, job: Job) -> _Distribution:
        kinds = list(_kinds(job.user, job.application, job.estimate_s, job.cores))
        known = self._distributions.get(kinds[0])
        if known is None:
            known = self._distributions[kinds[0]] = _Distribution(self._weighted(kinds))
        return known

    def _weighted(self, kinds: Sequence[_Kind]) -> list[tuple[float, float]]:
        """The runs of these kinds, the narrowest first, each with its weight."""
        weighted: list[tuple[float, float]] = []
        left = 1.0
        for kind in kinds:
            past = self._past.get(kind)
            if past is None:
                continue
            count = (1 - OF_NEWER ** len(past)) / (1 - OF_NEWER)
            part = left if kind is kinds[-1] else left * count / (count + WIDER)
            weighted += [(took, part * OF_NEWER**age / count) for age, took in enumerate(reversed(past))]
            left -= part
        return weighted


def _kinds(user: str, application: str, asked_s: float, cores: int) -> Iterator[_Kind]:
    """The kinds of such a run, from the narrowest to the whole site."""
    limited = asked_s != UNLIMITED_S
    yield limited, user, application, asked_s, cores
    yield limited, user, application, asked_s
    if application:
        yield limited, user, application
    yield limited, user
    yield (limited,)
