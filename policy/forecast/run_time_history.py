"""Predicts run times from those of ended jobs: the share of the requested walltime that they took.

A job's run time is drawn from runs like it, of the same user and application first, then of the user, then of the site;
the more runs of a narrow kind are known, the more it counts. Where few are known at all, other shares are drawn too: a
few equal runs are no certainty (docs/forecast.md).
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
"""The weight of a run, against the next newer one of its kind. Of the whole site all that are kept count alike."""

WIDER = 3.0
"""The weight of all wider kinds together, in runs of this kind. A kind of n runs has n / (n + WIDER) of the weight that
the narrower kinds leave, as in a hierarchical Dirichlet process (Teh, Jordan, Beal, Blei, JASA 2006). A kind that has
the runs of a narrower one and no others has none: it tells nothing new."""

UNSEEN = 3.0
"""The weight of shares that no run had yet, in runs of the whole site: any share of the requested walltime alike."""

_UNSEEN_SHARES = tuple((part + 0.5) / 10 for part in range(10))

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
        self._counts: dict[_Kind, int] = {}
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
                self._counts[kind] = self._counts.get(kind, 0) + 1
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
        """The runs of these kinds, the narrowest first and the site's last, each with its weight, and shares that none
        of them had."""
        *narrow, site = kinds
        weighted: list[tuple[float, float]] = []
        left, counted = 1.0, 0
        for kind in narrow:
            count = self._counts.get(kind, 0)
            if count == counted:
                continue
            counted, past = count, self._past[kind]
            known = (1 - OF_NEWER ** len(past)) / (1 - OF_NEWER)
            part = left * known / (known + WIDER)
            weighted += [(took, part * OF_NEWER**age / known) for age, took in enumerate(reversed(past))]
            left -= part
        of_site = self._past.get(site, ())
        if not of_site:
            return []
        # A run time in seconds has no bound that all others could be drawn below.
        each = left / (len(of_site) + (UNSEEN if site[0] else 0.0))
        weighted += [(took, each) for took in of_site]
        return weighted + [(share, each * UNSEEN / len(_UNSEEN_SHARES)) for share in _UNSEEN_SHARES if site[0]]


def _kinds(user: str, application: str, asked_s: float, cores: int) -> Iterator[_Kind]:
    """The kinds of such a run, from the narrowest to the whole site."""
    limited = asked_s != UNLIMITED_S
    yield limited, user, application, asked_s, cores
    yield limited, user, application, asked_s
    if application:
        yield limited, user, application
    yield limited, user
    yield (limited,)
