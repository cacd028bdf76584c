"""What ended runs tell of the run times of others: the share of the asked time that they took.

A job's run time is drawn from the last runs that were like it: of the same user and application, with the same asked
time and cores; where these are too few, of ever more runs, at last of the whole site. It is never above the asked time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished, Job

KEPT = 100
"""How many of the last runs are kept of each kind."""

ENOUGH = 2
"""How many runs of a kind are drawn from rather than those of the next wider kind."""

_Kind = tuple[object, ...]


class RunTimeHistory:
    """The last runs of each kind. Mutable: runs are added as they end.

    Of runs with an asked time the share of it is kept, of those without one the seconds.
    """

    def __init__(self, finished: Iterable[Finished] = ()) -> None:
        self._past: dict[_Kind, deque[float]] = {}
        self.remember(finished)

    def remember(self, finished: Iterable[Finished]) -> None:
        """Add runs that ended by themselves, in the order in which they ended."""
        for run in finished:
            took = max(0.0, run.end_s - run.start_s)
            if run.estimate_s != UNLIMITED_S:
                took = min(1.0, took / max(1.0, run.estimate_s))
            for kind in _kinds(run.user, run.application, run.estimate_s, run.cores):
                self._past.setdefault(kind, deque(maxlen=KEPT)).append(took)

    def run_times(self, job: Job, elapsed_s: float = 0.0) -> Sequence[float]:
        """The run times that the job may have, newest first, if it has run for ``elapsed_s`` already.

        Where no run known to us lasted as long, it is what the job asked for; empty if it asked for no time.
        """
        limited = job.estimate_s != UNLIMITED_S
        unit_s = job.estimate_s if limited else 1.0
        longer: list[float] = []
        for kind in _kinds(job.user, job.application, job.estimate_s, job.cores):
            past = self._past.get(kind, ())
            longer = [share * unit_s for share in reversed(past) if elapsed_s <= 0 or share * unit_s > elapsed_s]
            if len(longer) >= ENOUGH:
                return longer
        return longer or ((job.estimate_s,) if limited else ())


def _kinds(user: str, application: str, asked_s: float, cores: int) -> Iterator[_Kind]:
    """The kinds of such a run, from the narrowest to the whole site."""
    limited = asked_s != UNLIMITED_S
    yield limited, user, application, asked_s, cores
    yield limited, user, application, asked_s
    if application:
        yield limited, user, application
    yield limited, user
    yield (limited,)
