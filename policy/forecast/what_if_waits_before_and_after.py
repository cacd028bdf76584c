"""What a change does over the hours ahead: the cluster is run forward without and with it, with the same drawn run
times.

A wait is counted until the start, or until the end of the span for a job that starts later; so neither side looks
better because its longest waits are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import NamedTuple

from policy.forecast.simulate_forward import Draw
from policy.model.jobs_runs_vnodes_queues import Job


class Fares(NamedTuple):
    """How some jobs fare on one side: how many they are, their mean wait from now on within the span in seconds, and
    how many start within it (a mean over the draws)."""

    jobs: int
    wait_s: float
    started: float


class Side(NamedTuple):
    """One side, as means over the draws. ``idle_cores`` is the mean over the span; ``repeated_core_s`` are the
    core-seconds that preempted runs have to run again."""

    idle_cores: float
    preemptions: float
    repeated_core_s: float
    all: Fares
    by_user: Mapping[str, Fares]
    by_queue: Mapping[str, Fares]


class Comparison(NamedTuple):
    """Both sides over a span from ``begin_s`` until ``end_s``, by ``draws`` pairs of draws. ``left_out``: how many
    waiting jobs were taken from both sides beforehand, as there were very many."""

    begin_s: float
    end_s: float
    draws: int
    before: Side
    after: Side
    left_out: int = 0


class State(NamedTuple):
    """One side at the begin: the jobs that wait, those that run, and the cores of the vnodes that take jobs.
    ``too_large``: the waiting jobs that the vnodes could not hold even without any other."""

    waiting: Mapping[str, Job]
    running: frozenset[str]
    cores: int
    too_large: frozenset[str] = frozenset()

    def never_starts(self, job_id: str) -> bool:
        """Whether a job waits on this side, and may not start whatever is free."""
        return job_id in self.waiting and (bool(self.waiting[job_id].blocked) or job_id in self.too_large)


def compare_ahead(
    before: State,
    after: State,
    pairs: Sequence[tuple[Draw, Draw]],
    begin_s: float,
    end_s: float,
    left_out: int = 0,
) -> Comparison:
    """What some pairs of draws, at least one, come to for the jobs that wait on either side and are there on both,
    but those that may start on neither side whatever is free."""
    both = {**after.waiting, **before.waiting}
    jobs = [
        job
        for job in both.values()
        if all(job.id in side.waiting or job.id in side.running for side in (before, after))
        and not all(side.never_starts(job.id) for side in (before, after))
    ]
    first, second = zip(*pairs)
    sides = (_side(jobs, before, first, begin_s, end_s), _side(jobs, after, second, begin_s, end_s))
    return Comparison(begin_s, end_s, len(pairs), *sides, left_out)


def _side(jobs: Sequence[Job], state: State, draws: Sequence[Draw], begin_s: float, end_s: float) -> Side:
    waits = {job.id: [_start_s(job, state, draw, begin_s, end_s) - begin_s for draw in draws] for job in jobs}
    span_s, count = end_s - begin_s, len(draws)
    started = {job_id: sum(wait_s < span_s for wait_s in each) / count for job_id, each in waits.items()}
    # Exact sums: those of sum() have other last digits from Python 3.12 on.
    mean = {job_id: fsum(each) / count for job_id, each in waits.items()}

    def fares(ids: Sequence[str]) -> Fares:
        total_s = fsum(mean[job_id] for job_id in ids)
        return Fares(len(ids), total_s / len(ids) if ids else 0.0, fsum(started[job_id] for job_id in ids))

    by_user: dict[str, list[str]] = {}
    by_queue: dict[str, list[str]] = {}
    for job in jobs:
        by_user.setdefault(job.user, []).append(job.id)
        by_queue.setdefault(job.queue, []).append(job.id)
    return Side(
        max(0.0, state.cores - fsum(draw.used_core_s for draw in draws) / count / span_s),
        sum(draw.preemptions for draw in draws) / count,
        fsum(draw.repeated_core_s for draw in draws) / count,
        fares(list(waits)),
        {user: fares(ids) for user, ids in sorted(by_user.items())},
        {queue: fares(ids) for queue, ids in sorted(by_queue.items())},
    )


def _start_s(job: Job, state: State, draw: Draw, begin_s: float, end_s: float) -> float:
    """When the job starts in a draw: at the begin if it runs on this side already, at the end if not before."""
    if job.id not in state.waiting:
        return begin_s
    start = draw.starts.get(job.id)
    return end_s if start is None else min(end_s, start.at_s)
