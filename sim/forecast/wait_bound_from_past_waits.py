"""A bound on a job's wait from the waits of like jobs alone: the binomial method of QBETS (Nurmi, Brevik, Wolski,
"QBETS: Queue bounds estimation from time series", JSSPP 2007).

Of n past waits, the k-th smallest is above nine tenths of all waits with a confidence of 95 %, where k is the smallest
number with P(Binomial(n, 0.9) < k) >= 0.95. When waits keep missing the bound, the waits before are forgotten.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from math import log, sqrt

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S

SHARE = 0.9
FEWEST = 29
"""With fewer waits no bound has the confidence: 0.9 ** 28 is still above 5 %."""

KEPT = 1000
MISSES = 5
"""So many waits above the bound in a row are a change of the times."""

_CONFIDENT = 1.645
"""How many standard deviations hold 95 % of a normal distribution on one side."""

Kind = tuple[int, int]


def kind_of(cores: int, asked_s: float) -> Kind:
    """Like jobs have about the same cores and requested walltime, to a power of 2 and of 4."""
    return int(log(max(1, cores), 2)), -1 if asked_s == UNLIMITED_S else int(log(max(1.0, asked_s), 4))


class WaitHistory:
    """The waits of the jobs that have started, by kind, and of all jobs together."""

    def __init__(self) -> None:
        self._kinds: dict[Kind | None, _Waits] = {}

    def add(self, kind: Kind, wait_s: float) -> None:
        """A job of this kind started after this wait."""
        for each in (kind, None):
            self._kinds.setdefault(each, _Waits()).add(wait_s)

    def bound_s(self, kind: Kind, waited_s: float) -> float | None:
        """The wait in all that a job stays below which has waited so long already; None while too little is known."""
        for each in (kind, None):
            waits = self._kinds.get(each)
            bound_s = waits.bound_s(waited_s) if waits is not None else None
            if bound_s is not None:
                return bound_s
        return None


class _Waits:
    """The last waits in the order of the starts, and sorted."""

    def __init__(self) -> None:
        self._last: deque[float] = deque()
        self._sorted: list[float] = []
        self._missed = 0

    def add(self, wait_s: float) -> None:
        bound_s = self.bound_s(0.0)
        self._missed = self._missed + 1 if bound_s is not None and wait_s > bound_s else 0
        self._last.append(wait_s)
        insort(self._sorted, wait_s)
        most = KEPT
        if self._missed >= MISSES:
            self._missed, most = 0, FEWEST
        if len(self._last) > most:
            while len(self._last) > most:
                self._last.popleft()
            self._sorted = sorted(self._last)

    def bound_s(self, waited_s: float) -> float | None:
        longer = [wait_s for wait_s in self._sorted if wait_s >= waited_s] if waited_s > 0 else self._sorted
        rank = rank_of_bound(len(longer))
        return None if rank is None else longer[rank - 1]


def rank_of_bound(count: int) -> int | None:
    """Which of so many waits, counted from 1 for the smallest, is the bound; None if none is sure enough."""
    if count < FEWEST:
        return None
    if count > 10 * FEWEST:
        # The normal approximation, as the authors use it.
        return min(count, int(count * SHARE + _CONFIDENT * sqrt(count * SHARE * (1 - SHARE))) + 1)
    term, below = (1 - SHARE) ** count, 0.0
    for rank in range(1, count + 1):
        below += term
        if below >= 0.95:
            return rank
        term *= (count - rank + 1) / rank * SHARE / (1 - SHARE)
    return None
