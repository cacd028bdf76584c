"""Advice to PBS's own scheduler, which starts the jobs of queues in ``advise``: in which order, by their ``Priority``.

It follows the job's class (docs/policies.md, P2), and a job for which others were preempted stands above all until it
runs. The priority that the user gave is remembered, is what everything is decided by, and is put back when
the queue leaves ``advise``. Nothing is written that is there already.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from policy.eligibility.priority_classes import BASE
from policy.plan.plan import Plan

if TYPE_CHECKING:
    from hooks.pbs.client import Connection
    from hooks.pbs.requests import Errands
    from hooks.pbs.status import Picture
    from hooks.translate.snapshot import Translation
from hooks.store.priorities import Changed, Priorities, _priority

BENEFICIARY = 1023
"""The highest priority that PBS knows, kept for those for whom others were preempted."""

_LEAST, _MOST_BELOW = -1024, 1022


class Advice(NamedTuple):
    """The priorities to set, by job, those of beneficiaries first. ``above`` are the jobs that stand above all others
    then; ``memory`` has to be on disk before anything is set."""

    priorities: Mapping[str, int]
    above: frozenset[str]
    memory: Priorities


def find_advice(
    plan: Plan, translation: Translation, picture: Picture, memory: Priorities, queues: Collection[str]
) -> Advice:
    """What PBS's scheduler shall know of the waiting jobs of ``queues``, those in ``advise`` whose scheduler goes by
    priority. ``picture`` is what the server shows, with what earlier passes have set."""
    world = translation.snapshot.world()
    waiting = [job for job in world.jobs.values() if job.queue in queues]
    above = frozenset(job.id for job in waiting if _is_above(job.id, plan, picture, memory))
    levels = dict.fromkeys(above, BENEFICIARY)
    if plan.classes is not None:
        bands = _Bands({p for name in queues for p in world.queues[name].priorities.entries.values()})
        for job in waiting:
            if job.id not in above and world.queues[job.queue].priorities:
                levels[job.id] = bands.level(plan.classes.get(job.id, BASE), job.priority)
    priorities: dict[str, int] = {}
    kept: dict[str, Changed] = {}
    for job_id in [*levels, *(job_id for job_id in memory if job_id not in levels and job_id in picture.jobs)]:
        now = _priority(picture, job_id)
        ours = job_id in memory and now in memory[job_id].given
        own = memory[job_id].own if ours else now
        wanted = levels.get(job_id, own) if job_id in world.jobs else now
        if wanted != now:
            priorities[job_id] = wanted
        given = tuple(sorted({now, wanted} - {own}))
        if given:
            kept[job_id] = Changed(own, given)
    return Advice(priorities, above, kept)


def give_advice(connection: Connection, advice: Advice, errands: Errands) -> frozenset[str]:
    """Set the priorities; returns the jobs that stand above all others now. What is left undone is found again by the
    next pass."""
    undone = {
        job_id
        for job_id, priority in advice.priorities.items()
        if not errands.run(partial(connection.set_priority, job_id, priority))
    }
    return advice.above - undone


class _Bands:
    """PBS's range of priorities shared out: a band for the base class and for each priority that a queue names, and in
    each band room for what the users asked for, around its middle."""

    def __init__(self, priorities: Collection[int]) -> None:
        self._known = sorted(priorities)
        self._width = max(1, (_MOST_BELOW - _LEAST + 1) // (len(self._known) + 1))

    def level(self, of_class: int, own: int) -> int:
        """The priority to set for a job of this class whose user asked for ``own``."""
        band = 0 if of_class == BASE else 1 + bisect_left(self._known, of_class)
        reach = (self._width - 1) // 2
        middle = _LEAST + band * self._width + reach
        return min(_MOST_BELOW, middle + max(-reach, min(reach, own)))


def _is_above(job_id: str, plan: Plan, picture: Picture, memory: Priorities) -> bool:
    """Whether others were preempted for the job: now, or earlier, and it has stood above all since."""
    if job_id in plan.ledger.holds:
        return True
    return job_id in memory and BENEFICIARY in memory[job_id].given and _priority(picture, job_id) == BENEFICIARY
