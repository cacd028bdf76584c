"""Adds a pass to the last day's activity (:mod:`hooks.record.day_of_activity`), for the console's charts.

The passes of one process read the file once, and the early ones write it every two seconds at most: with hundreds of
users that takes as long as the rest of a small pass. A pass never depends on it: a file that cannot be read is begun
anew, and one that cannot be written is left as it is.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter

from hooks.act.apply_plan import Outcome
from hooks.record.day_of_activity import Day, Events
from hooks.record.hourly_use import Entity
from hooks.store.state_files import DAY, State
from policy.model.limit_attributes import ALL
from policy.plan.plan_types import Plan
from policy.state.cluster_snapshot import Snapshot

_WRITTEN_S = 2.0
"""An early pass writes the file if it was last written so long ago."""

_ODD = (OSError, ValueError, TypeError, LookupError, ArithmeticError)
"""What a full disk or odd numbers raise."""


class LastDay:
    """The last day, over the passes of one process; call :meth:`write` when it ends."""

    def __init__(self) -> None:
        self._day: Day | None = None
        self._unwritten: State | None = None
        self._written_s = -math.inf

    def note(
        self, state: State, snapshot: Snapshot, plan: Plan, outcome: Outcome, counted: str, *, early: bool = False
    ) -> None:
        """Add what the pass found and did; ``counted`` is the resource of users' trends."""
        with contextlib.suppress(*_ODD):
            before = Day.from_data(state.read_published(DAY)) if self._day is None else self._day
            self._day = add_pass(before, snapshot, plan, outcome, counted)
            self._unwritten = state
            if not early or not 0 <= plan.time_s - self._written_s < _WRITTEN_S:
                self.write()

    def write(self) -> None:
        """Write what is not written yet."""
        day, state, self._unwritten = self._day, self._unwritten, None
        if day is None or state is None:
            return
        with contextlib.suppress(*_ODD):
            state.publish(DAY, day.to_data(), shared=True, sync=False)
            self._written_s = day.last_s


def add_pass(before: Day, snapshot: Snapshot, plan: Plan, outcome: Outcome, counted: str = "ncpus") -> Day:
    """The day with one more pass. A run that is gone since the pass before has ended; the cores in use are those after
    the starts, the use of each entity is that of the runs found."""
    runs = snapshot.cluster().runs
    idle = snapshot.idle_cores()
    used = sum(run.job.cores for run in runs.values())
    started = set(outcome.started)
    starts = [start for start in plan.starts if start.id in started]
    taken = sum(start.job.cores for start in starts)
    events = Events(
        len(starts),
        max(0, before.running - len(runs)),
        len(outcome.preempted),
        len(outcome.failures),
        sum(max(0.0, plan.time_s - start.job.submit_s) for start in starts),
    )
    running = len(runs) + len(starts) - len(set(outcome.requeued))
    total = used + idle
    use = use_by_entity(snapshot, counted)
    return before.sampled(plan.time_s, used + min(taken, idle), total, events, max(0, running), use)


def use_by_entity(snapshot: Snapshot, counted: str) -> dict[Entity, int]:
    """What the runs of each queue hold of a resource, as quotas count it: by user, and by group, by project and in all
    where a quota of the queue or the server is for these."""
    cluster = snapshot.cluster()
    of_server = {kind for limits in cluster.server.quotas.values() for kind in limits.kinds}
    kinds: dict[str, set[str]] = {}
    found: Counter[Entity] = Counter()
    for run in cluster.runs.values():
        job = run.job
        if job.queue not in kinds:
            queue = cluster.queues.get(job.queue)
            quotas = queue.quotas_by_resource().values() if queue is not None else ()
            kinds[job.queue] = of_server.union(*(limits.kinds for limits in quotas))
        amount = cluster.usage.occupied_amount(cluster, run.allocation, job, counted)
        found[job.queue, "u", job.user] += amount
        for kind, name in (("g", job.group), ("p", job.project), ALL):
            if kind in kinds[job.queue]:
                found[job.queue, kind, name] += amount
    return found
