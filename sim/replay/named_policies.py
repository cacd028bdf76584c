"""Policies by name or file: settings, and the queue that a replayed workload goes through.

Every name is a set of settings of the one engine, in some cases with another order of the queue; only `conservative` is
another scheduler. Where a policy needs quotas and no file gives them, a user's quota is that user's share of the
workload's core-seconds, rounded up (equal shares for a generated workload); as a hard limit it is never less than the
user's widest job, which would otherwise be left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable

from policy.model.jobs_runs_vnodes_queues import HardLimits, Queue, Server
from policy.model.limit_attributes import Limits
from policy.order.job_sort_formula import FormulaError
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import (
    BackfillSettings,
    CheckpointSettings,
    QuotaSettings,
    RescueSettings,
    Settings,
    SettingsError,
)
from sim.replay import conservative_backfilling
from sim.replay.orders_of_other_sites import BuildOrder, SimulatedOrder, by_formula, fair_share, multifactor, wfp
from sim.workload.read_toml_file import TomlFileError, read_toml
from sim.workload.workload import Cluster, Workload

QUEUE = "workq"


class PolicyError(ValueError):
    """A policy that is neither a known name nor a file with usable settings; ``problems`` has one line for each
    problem.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True)
class Policy:
    """A name for the report, the settings, the queue for all jobs, and the server's own limits.

    ``order`` makes the order of the queue for one replay, where it is not by age. ``is_conservative``: the settings do
    not count, :mod:`sim.replay.conservative_backfilling` replays instead.
    """

    name: str
    settings: Settings
    queue: Queue
    server: Server = field(default_factory=Server)
    order: Callable[[], SimulatedOrder] | None = None
    is_conservative: bool = False


_ALL_AT_ONCE = ScheduleSettings(max_starts=1_000_000)
_FCFS = Settings(BackfillSettings(kind="none"), QuotaSettings(preempt=False), schedule=_ALL_AT_ONCE)
_EASY = replace(_FCFS, backfill=BackfillSettings(kind="easy"))
_HALF = BackfillSettings(kind="checkpoint", shrink_factor=0.5)
_FIFTH = BackfillSettings(kind="checkpoint", shrink_factor=0.2, order="shortest-first")
_STRIPED = StripeSettings(layout="stripe")
_COMPOSITE = RankingSettings(mode="composite")
_SAVING = replace(_FCFS, checkpoint=CheckpointSettings(saves=True))

Build = Callable[[Workload, Cluster], Policy]


def _plain(name: str, settings: Settings) -> Build:
    return lambda _workload, _cluster: Policy(name, settings, Queue(QUEUE))


def _ordered(name: str, build: BuildOrder) -> Build:
    """EASY backfilling below another order of the queue."""
    return lambda workload, cluster: Policy(name, _EASY, Queue(QUEUE), order=lambda: build(workload, cluster))


_NAMED: dict[str, Build] = {
    "fcfs": _plain("fcfs", _FCFS),
    "easy": _plain("easy", _EASY),
    "easy-sjbf": _plain("easy-sjbf", replace(_EASY, backfill=BackfillSettings(order="shortest-first"))),
    "hard-limit": lambda w, c: Policy(
        "hard-limit", _EASY, Queue(QUEUE, hard=HardLimits(max_run_res={"ncpus": hard_limits_of(w, c)}))
    ),
    "quota": lambda w, c: Policy(
        "quota", replace(_EASY, quota=QuotaSettings(preempt=True)), Queue(QUEUE, quotas=shares(w, c))
    ),
    "priority": lambda w, c: Policy("priority", _EASY, Queue(QUEUE, quotas=shares(w, c), priorities=ranks(w))),
    "checkpoint": _plain("checkpoint", replace(_SAVING, backfill=_HALF)),
    "checkpoint-sjbf": _plain("checkpoint-sjbf", replace(_SAVING, backfill=_FIFTH)),
    "checkpoint-rescue": _plain(
        "checkpoint-rescue", replace(_SAVING, backfill=_FIFTH, rescue=RescueSettings(enabled=True))
    ),
    "packed": _plain("packed", replace(_EASY, stripe=StripeSettings(layout="pack"))),
    "striped": _plain("striped", replace(_EASY, stripe=_STRIPED)),
    "learned": _plain("learned", replace(_EASY, stripe=StripeSettings(layout="learn"))),
    "auto": _plain("auto", replace(_EASY, stripe=StripeSettings(layout="auto"))),
    "ranked": _plain("ranked", replace(_EASY, ranking=_COMPOSITE)),
    "ranked-striped": _plain("ranked-striped", replace(_EASY, ranking=_COMPOSITE, stripe=_STRIPED)),
    "conservative": lambda _w, _c: Policy(conservative_backfilling.NAME, _EASY, Queue(QUEUE), is_conservative=True),
    "fair-share": _ordered("fair-share", fair_share),
    "wfp": _ordered("wfp", wfp),
    "multifactor": _ordered("multifactor", multifactor),
}
FORMULA = "formula:"
"""What a policy's name begins with that is a formula of the user's own."""

NAMES = tuple(_NAMED)
"""The names that :func:`resolve` knows."""


def resolve(name: str, workload: Workload, cluster: Cluster) -> Policy:
    """The policy with this name, or of this TOML file, for this workload. Raises :class:`PolicyError`."""
    return find(name)(workload, cluster)


def find(name: str) -> Build:
    """A function that builds the policy with this name, or of this TOML file, for a workload. Raises
    :class:`PolicyError` with one line for each problem.
    """
    build = _NAMED.get(name)
    if build is not None:
        return build
    if name.startswith(FORMULA):
        try:
            return _ordered(name, by_formula(name[len(FORMULA) :]))
        except FormulaError as error:
            raise PolicyError(f"policy {name!r}: the formula {error}") from error
    path = Path(name)
    if not (path.suffix or "/" in name or path.exists()):
        raise PolicyError(
            f"policy {name!r} is not known; allowed are {', '.join(NAMES)}, {FORMULA}EXPRESSION, "
            "or a TOML file with settings"
        )
    try:
        settings = Settings.from_data(read_toml(path), name)
    except SettingsError as error:
        raise PolicyError(*error.problems) from error
    except TomlFileError as error:
        raise PolicyError(str(error)) from error
    if len(settings.queues) > 1:
        names = ", ".join(queue.name for queue in settings.queues)
        raise PolicyError(f"{name}: queues {names}; a workload trace is replayed through one queue: describe just one")
    settings = replace(settings, schedule=replace(settings.schedule, max_starts=_ALL_AT_ONCE.max_starts))
    queue = Queue(QUEUE)
    for described in settings.queues:
        quotas = dict(described.quotas)
        queue = Queue(
            described.name,
            quotas=quotas.pop("ncpus", Limits()),
            hard=HardLimits(max_run_res=described.max_run_res),
            priorities=described.priorities,
            priority=described.priority,
            other_quotas=quotas,
        )
    server = Server(hard=HardLimits(max_run_res=settings.cluster.max_run_res), quotas=settings.cluster.quotas)
    policy = Policy(path.stem, settings, queue, server)
    return lambda _workload, _cluster: policy


def hard_limits_of(workload: Workload, cluster: Cluster) -> Limits:
    """Each user's share, in a recorded workload at least the user's widest job: the policy then runs the same jobs as
    the others, and is comparable with them.
    """
    quotas = shares(workload, cluster)
    if workload.generated:
        return quotas
    widest = dict(quotas.entries)
    for job in workload.jobs:
        widest["u", job.user] = max(widest["u", job.user], job.cores)
    return Limits(widest)


def shares(workload: Workload, cluster: Cluster) -> Limits:
    """Each user's share of the cluster's cores, rounded up: by core-seconds in a recorded workload, equal in a
    generated one.
    """
    used: dict[str, float] = {}
    for job in workload.jobs:
        used[job.user] = used.get(job.user, 0) + (1 if workload.generated else job.cores * job.run_s)
    if workload.generated:
        return Limits({("u", user): math.ceil(cluster.cores / len(used)) for user in used})
    total = sum(used.values())
    return Limits({("u", user): math.ceil(cluster.cores * part / total) if total else 0 for user, part in used.items()})


def ranks(workload: Workload) -> Limits:
    """A priority for each user where no file gives any: the fewer core-seconds in the workload, the higher."""
    used: dict[str, float] = {}
    for job in workload.jobs:
        used[job.user] = used.get(job.user, 0) + job.cores * job.run_s
    return Limits({("u", user): rank for rank, user in enumerate(sorted(used, key=lambda user: (-used[user], user)))})
