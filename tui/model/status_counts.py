"""Counts of the server status, made once per poll: cores and vnodes by state, jobs by queue, use by user.

All sums in the overview, the queues and the quotas come from this one pass over the jobs, so that the views agree and
100,000 jobs are walked only once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_subjob, parent_of
from tui.model.typed_attributes import (
    RUNNING_STATES,
    SUSPENDED_STATES,
    Attributes,
    amount,
    group_of,
    subjobs_waiting,
    user_of,
    vnode_state,
)

_PART_OF_STATE = {"R": 0, "E": 0, "S": 0, "U": 0, "B": 0, "H": 2, "W": 2}

_GPUS = "Resource_List.ngpus"
UserKey = tuple[str, str]
"""``(queue, user)``, ``(queue, group)`` or ``(queue, project)``."""


@dataclass
class Use:
    """What one user, group or project uses and waits for in one queue. Suspended jobs are running but use nothing."""

    cores: int = 0
    running: int = 0
    waiting: int = 0
    waiting_cores: int = 0
    gpus: int = 0


@dataclass
class Vnodes:
    """Cores and vnodes: ``total`` and ``used`` cores on vnodes that are up, vnodes that are up by whether they are used
    (``part`` of those that are ``busy`` have idle cores that a job may still get), and the names of the others by
    state; ``gpus`` and ``memory_kib`` that are assigned there, and all. ``used_not_up``: the cores of jobs that still
    run on those others, as on a vnode that was taken offline."""

    total: int = 0
    used: int = 0
    used_not_up: int = 0
    busy: int = 0
    part: int = 0
    free: int = 0
    gpus: tuple[int, int] = (0, 0)
    memory_kib: tuple[int, int] = (0, 0)
    not_up: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass
class Counts:
    """All counts of one server status. ``states`` counts jobs by PBS's state letter, with each subjob as a job;
    ``subjobs_running`` counts the subjobs of an array that have started, by the array's id."""

    vnodes: Vnodes
    states: Counter[str]
    queue_states: dict[str, Counter[str]]
    users: dict[UserKey, Use]
    groups: dict[UserKey, Use]
    projects: dict[UserKey, Use]
    subjobs_running: Counter[str]

    @property
    def running(self) -> int:
        """The jobs that run, end or are suspended."""
        return sum(self.states[state] for state in RUNNING_STATES)

    @property
    def queued(self) -> int:
        """The jobs that wait and that no hold keeps."""
        return sum(self.states[state] for state in "QWT")


def suspended_among(counts: Counts) -> str:
    """`` (3 suspended)``, beside a number of running jobs that has these; empty if there are none."""
    suspended = sum(counts.states[state] for state in SUSPENDED_STATES)
    return f" ({suspended:,} suspended)" if suspended else ""


def count(jobs: Mapping[str, Attributes], vnodes: Mapping[str, Attributes], resource: str) -> Counts:
    """Count jobs and vnodes; ``resource`` is the one that quotas count."""
    counts = Counts(
        _count_vnodes(vnodes, resource),
        Counter(),
        defaultdict(Counter),
        defaultdict(Use),
        defaultdict(Use),
        defaultdict(Use),
        Counter(),
    )
    asked = f"Resource_List.{resource}"
    for job_id, job in jobs.items():
        state = job.get("job_state", "?")
        queue = job.get("queue", "")
        user = counts.users[queue, user_of(job)]
        group = counts.groups[queue, group_of(job)]
        project = counts.projects[queue, job.get("project", "")]
        cores, gpus = amount(job, asked), amount(job, _GPUS) if _GPUS in job else 0
        jobs_here = 1
        if is_array(job_id):
            state = state if state in "HW" else "Q"
            jobs_here = subjobs_waiting(job)
        elif is_subjob(job_id):
            counts.subjobs_running[parent_of(job_id)] += 1
        counts.states[state] += jobs_here
        counts.queue_states[queue][state] += jobs_here
        for use in (user, group, project):
            _add(use, state, jobs_here, cores, gpus)
    return counts


def _add(use: Use, state: str, jobs: int, cores: int, gpus: int) -> None:
    if state in RUNNING_STATES:
        if state not in SUSPENDED_STATES:
            use.cores += jobs * cores
            use.gpus += jobs * gpus
        use.running += jobs
    elif state in "QHW":
        use.waiting += jobs
        use.waiting_cores += jobs * cores


def _count_vnodes(vnodes: Mapping[str, Attributes], resource: str) -> Vnodes:
    counted = Vnodes()
    for name, vnode in vnodes.items():
        state = vnode_state(vnode)
        used = amount(vnode, f"resources_assigned.{resource}")
        if not state.up:
            counted.not_up[state.words].append(name)
            counted.used_not_up += used
            continue
        total = amount(vnode, f"resources_available.{resource}")
        counted.total += total
        counted.used += used
        counted.gpus = _sum_of(counted.gpus, vnode, "ngpus")
        counted.memory_kib = _sum_of(counted.memory_kib, vnode, "mem")
        if used:
            counted.busy += 1
            counted.part += used < total and state.letter != "x"
        else:
            counted.free += 1
    return counted


def _sum_of(sums: tuple[int, int], vnode: Attributes, resource: str) -> tuple[int, int]:
    has = amount(vnode, f"resources_available.{resource}")
    if not has:
        return sums
    return sums[0] + amount(vnode, f"resources_assigned.{resource}"), sums[1] + has


class Folded(NamedTuple):
    """The ids of jobs and arrays, without subjobs, each list in the server's order."""

    running: list[str]
    waiting: list[str]
    held: list[str]


def folded(jobs: Mapping[str, Attributes]) -> Folded:
    """The running, waiting and held jobs; an array that has begun counts as running."""
    parts = Folded([], [], [])
    for job_id, job in jobs.items():
        if not is_subjob(job_id):
            parts[_PART_OF_STATE.get(job.get("job_state", ""), 1)].append(job_id)
    return parts


def subjobs_of(jobs: Mapping[str, Attributes]) -> dict[str, list[str]]:
    """The ids of the running subjobs by the id of their array."""
    found: dict[str, list[str]] = defaultdict(list)
    for job_id in jobs:
        if is_subjob(job_id):
            found[parent_of(job_id)].append(job_id)
    return found
