"""Adds a pass to the last day's activity (:mod:`hooks.record.day_of_activity`), for the console's charts.

A pass never depends on it: a file that cannot be read is begun anew, and one that cannot be written is left as it is.
"""

from __future__ import annotations

import contextlib

from hooks.act.apply_plan import Outcome
from hooks.record.day_of_activity import Day, Events
from hooks.store.state_files import DAY, State
from policy.plan.plan_types import Plan
from policy.state.cluster_snapshot import Snapshot


def note_activity(state: State, snapshot: Snapshot, plan: Plan, outcome: Outcome) -> None:
    """Add what the pass found and did."""
    with contextlib.suppress(OSError, ValueError, TypeError, LookupError, ArithmeticError):
        before = Day.from_data(state.read_published(DAY))
        state.publish(DAY, add_pass(before, snapshot, plan, outcome).to_data(), shared=True, sync=False)


def add_pass(before: Day, snapshot: Snapshot, plan: Plan, outcome: Outcome) -> Day:
    """The day with one more pass. A run that is gone since the pass before has ended; the cores in use are those after
    the starts."""
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
    return before.sampled(plan.time_s, used + min(taken, idle), used + idle, events, max(0, running))
