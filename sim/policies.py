"""Policies by name or file, as settings and as the queue that a replayed workload meets.

A name stands for settings of the one engine, never for another engine. Where a policy needs quotas and no file gives
them, a user's quota is that user's share of the workload's core-seconds, rounded up (equal shares for a drawn
workload).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from policy.cluster import HardLimits, Queue
from policy.limits import Limits
from policy.settings import BackfillSettings, PassSettings, QuotaSettings, Settings, SettingsError
from sim.toml_file import TomlFileError, read_toml
from sim.workload import Cluster, Workload

QUEUE = "workq"


class PolicyError(ValueError):
    """A policy that is neither a known name nor a file with usable settings."""


@dataclass(frozen=True)
class Policy:
    """A name for the report, the settings, and the queue that all jobs go through."""

    name: str
    settings: Settings
    queue: Queue


_ALL_AT_ONCE = PassSettings(max_starts=1_000_000)
_FCFS = Settings(BackfillSettings(kind="none"), QuotaSettings(preempt=False), _ALL_AT_ONCE)
_EASY = replace(_FCFS, backfill=BackfillSettings(kind="easy"))

Build = Callable[[Workload, Cluster], Policy]

_NAMED: dict[str, Build] = {
    "fcfs": lambda _w, _c: Policy("fcfs", _FCFS, Queue(QUEUE)),
    "easy": lambda _w, _c: Policy("easy", _EASY, Queue(QUEUE)),
    "easy-sjbf": lambda _w, _c: Policy(
        "easy-sjbf", replace(_EASY, backfill=BackfillSettings(kind="easy", order="shortest-first")), Queue(QUEUE)
    ),
    "hard-limit": lambda w, c: Policy(
        "hard-limit", _EASY, Queue(QUEUE, hard=HardLimits(max_run_res={"ncpus": shares(w, c)}))
    ),
    "quota": lambda w, c: Policy(
        "quota", replace(_EASY, quota=QuotaSettings(preempt=True)), Queue(QUEUE, quotas=shares(w, c))
    ),
}

NAMES = tuple(_NAMED)
"""The names that :func:`resolve` knows."""


def resolve(name: str, workload: Workload, cluster: Cluster) -> Policy:
    """The policy of that name, or of that TOML file. Raises :class:`PolicyError` with one line for each problem."""
    build = _NAMED.get(name)
    if build is not None:
        return build(workload, cluster)
    path = Path(name)
    if not (path.suffix or "/" in name or path.exists()):
        raise PolicyError(f"policy {name!r} is not known; allowed are {', '.join(NAMES)}, or a TOML file with settings")
    try:
        settings = Settings.from_data(read_toml(path), name)
    except (SettingsError, TomlFileError) as error:
        raise PolicyError(str(error)) from error
    if len(settings.queues) > 1:
        names = ", ".join(queue.name for queue in settings.queues)
        raise PolicyError(f"{name}: queues {names}; a workload trace is replayed through one queue: describe just one")
    settings = replace(settings, schedule=replace(settings.schedule, max_starts=_ALL_AT_ONCE.max_starts))
    queue = Queue(QUEUE)
    for described in settings.queues:
        hard = HardLimits(max_run_res={settings.quota.counted: described.max_run_res})
        queue = Queue(described.name, quotas=described.quotas, hard=hard)
    return Policy(path.stem, settings, queue)


def shares(workload: Workload, cluster: Cluster) -> Limits:
    """Each user's share of the cluster's cores: by core-seconds in the workload, equal where it was drawn; rounded
    up."""
    used: dict[str, float] = {}
    for job in workload.jobs:
        used[job.user] = used.get(job.user, 0) + (1 if workload.generated else job.cores * job.run_s)
    if workload.generated:
        return Limits({("u", user): math.ceil(cluster.cores / len(used)) for user in used})
    total = sum(used.values())
    return Limits({("u", user): math.ceil(cluster.cores * part / total) if total else 0 for user, part in used.items()})
