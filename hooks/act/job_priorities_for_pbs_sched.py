"""Sets the job ``Priority`` of queues in ``advise`` by class (docs/policies.md, P2), beneficiaries above all, so that
PBS's own scheduler starts jobs in pbsteer's order.

The user's own priority is recorded, decides in the passes, and is restored when the queue leaves ``advise``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from hooks.admission.submission.priority_below_beneficiaries import BENEFICIARY
from hooks.translate.job.jobs import read_manager_priority
from policy.model.priority_class import BASE
from policy.plan.plan_types import Plan
from policy.settings.site_settings import Settings

if TYPE_CHECKING:
    from hooks.pbs.client.pbs_ifl_client import Connection
    from hooks.pbs.client.requests_within_time_budget import Requests
    from hooks.pbs.server_status_type_and_attributes import ServerStatus
    from hooks.translate.snapshot import Translation
from hooks.store.original_priorities import Changed, Priorities, shown_priority

_LEAST, _MOST_BELOW = -1024, BENEFICIARY - 1


class Advice(NamedTuple):
    """The priorities to set, by job, beneficiaries first. ``above``: the jobs that then stand above all others;
    ``memory``: what has to be on disk before any priority is set."""

    priorities: Mapping[str, int]
    above: frozenset[str]
    memory: Priorities


def find_advice(
    plan: Plan,
    translation: Translation,
    server_status: ServerStatus,
    memory: Priorities,
    queues: Collection[str],
    settings: Settings,
) -> Advice:
    """The priorities for the waiting jobs of ``queues``, those in ``advise`` whose scheduler sorts by priority.
    ``server_status`` has the priorities as the server shows them, including those that earlier passes have set."""
    cluster = translation.snapshot.cluster()
    waiting = [job for job in cluster.jobs.values() if job.queue in queues]
    above = frozenset(job.id for job in waiting if _is_above(job.id, plan, server_status, memory))
    levels = dict.fromkeys(above, BENEFICIARY)
    bands = _Bands({p for name in queues for p in cluster.queues[name].priorities.entries.values()})
    for job in waiting:
        if job.id in above:
            continue
        rank = read_manager_priority(server_status.jobs[job.id])
        if settings.order.user_priority == "all":
            rank += _own_priority(job.id, server_status, memory)
        if plan.classes is not None and cluster.queues[job.queue].priorities:
            levels[job.id] = bands.level(plan.classes.get(job.id, BASE), rank)
        else:
            levels[job.id] = max(_LEAST, min(_MOST_BELOW, rank))
    priorities: dict[str, int] = {}
    kept: dict[str, Changed] = {}
    for job_id in [*levels, *(job_id for job_id in memory if job_id not in levels and job_id in server_status.jobs)]:
        now = shown_priority(server_status, job_id)
        own = _own_priority(job_id, server_status, memory)
        # A run is left alone, but for a beneficiary's: requeued, it would stand above all others once more.
        wanted = levels.get(job_id, own) if job_id in cluster.jobs or now == BENEFICIARY else now
        if wanted != now:
            priorities[job_id] = wanted
        given = tuple(sorted({now, wanted} - {own}))
        if given:
            kept[job_id] = Changed(own, given)
    return Advice(priorities, above, kept)


def give_advice(connection: Connection, advice: Advice, pending_work: Requests) -> frozenset[str]:
    """Set the priorities; returns the jobs that now stand above all others. The next pass finds again what is left
    undone."""
    undone = {
        job_id
        for job_id, priority in advice.priorities.items()
        if not pending_work.run(partial(connection.set_priority, job_id, priority))
    }
    return advice.above - undone


def _own_priority(job_id: str, server_status: ServerStatus, memory: Priorities) -> int:
    """The priority that the job's user gave it, also where the server shows one that a pass has set."""
    now = shown_priority(server_status, job_id)
    return memory[job_id].own if job_id in memory and now in memory[job_id].given else now


class _Bands:
    """PBS's range of priorities, divided: a band for the base class and for each priority that a queue names. What
    managers gave a job, and its user where that orders all jobs, moves it within its band, around the middle."""

    def __init__(self, priorities: Collection[int]) -> None:
        self._known = sorted(priorities)
        self._width = max(1, (_MOST_BELOW - _LEAST + 1) // (len(self._known) + 1))

    def level(self, of_class: int, rank: int) -> int:
        """The priority to set for a job of this class with this rank among the jobs of its class."""
        band = 0 if of_class == BASE else 1 + bisect_left(self._known, of_class)
        reach = (self._width - 1) // 2
        middle = _LEAST + band * self._width + reach
        return min(_MOST_BELOW, middle + max(-reach, min(reach, rank)))


def _is_above(job_id: str, plan: Plan, server_status: ServerStatus, memory: Priorities) -> bool:
    """Whether the job is a beneficiary: now, or earlier, and it has stood above all since."""
    if job_id in plan.ledger.earmarks:
        return True
    is_given = job_id in memory and BENEFICIARY in memory[job_id].given
    return is_given and shown_priority(server_status, job_id) == BENEFICIARY
