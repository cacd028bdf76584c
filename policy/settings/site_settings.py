"""The site's settings: typed, in a few tables, checked key by key; an error names the key, the value, what is allowed
and the file.

Quotas and priorities are in PBS instead, those of a simulated cluster in :mod:`policy.settings.simulated_queues`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, TypeVar

from policy.model.save_method_names import SAVE_METHODS, SAVED_STATUS
from policy.settings.built_in_and_custom_vnode_formulas import FormulaError
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.setting_fields import (
    choice_setting,
    flag_setting,
    is_number,
    number_setting,
    read_names,
    setting,
    whole_setting,
)
from policy.settings.settings_of_server_and_passes import (
    AlertSettings,
    ForecastSettings,
    ScheduleSettings,
    ServerSettings,
    SubmissionSettings,
    TorqueSettings,
)
from policy.settings.simulated_queues import QueueSettings, read_cluster, read_queues
from policy.values.frozen_value import FrozenValue

VICTIM_ORDERS = ("newest", "oldest", "fewest-cores", "most-cores", "smallest-sufficient")
BACKFILL_KINDS = ("none", "easy", "checkpoint")
BACKFILL_ORDERS = ("first-come", "shortest-first")
PREDICTORS = ("none", "last-two", "ratio")
CHECKPOINT_ACTION_S = 40
"""How long a MoM lets pbsteer's checkpoint script run, as `pbsteer hooks scripts` configures it, in seconds
(docs/saving.md)."""
ORDERS = ("site", "age")
USER_PRIORITIES = ("none", "within-user", "all")
SIGNALS = ("USR1", "USR2", "HUP", "INT", "QUIT", "XCPU")

T = TypeVar("T")


class SettingsError(ValueError):
    """Settings that cannot be used. ``problems`` has one line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class BackfillSettings(FrozenValue):
    """EASY and P3: whether and how jobs behind the head start before it.

    With ``kind`` ``checkpoint`` they are tested with a shrunk estimate, and cut where the head needs their cores at its
    promised time. ``shrink_factor`` is p; ``shrink_threshold_s`` is the estimate above which it applies. A
    ``predictor`` replaces p for users of whom enough is known. Without either, estimates are taken as they are. In
    ``advise`` the shrunk estimate of a job that can be cut becomes its ``soft_walltime``.
    """

    kind: str = choice_setting("easy", BACKFILL_KINDS)
    order: str = choice_setting("first-come", BACKFILL_ORDERS)
    shrink_factor: float | None = setting(
        None,
        "a number greater than 0 and less than 1",
        lambda value: value if is_number(value) and 0 < value < 1 else None,
    )
    shrink_threshold_s: float = number_setting(3600, 0, unit="seconds")
    predictor: str = choice_setting("none", PREDICTORS)


@dataclass(frozen=True)
class CheckpointSettings(FrozenValue):
    """What preempting costs: whether jobs save their work unless they say otherwise, and how long saving takes.

    A saved job has ``cost_s`` more to run when it is cut and ``restart_s`` more when it goes on, each plus an amount
    per core. A job that cannot save repeats its work; it may be cut for a promise if that is at most
    ``repeat_at_most_s``.

    On a real server the request to save goes out ``grace_s`` before the promised time; a victim that still runs
    ``grace_s`` after the request is requeued. ``method`` is how jobs are asked to save, unless the job or its queue
    names a method: ``requeue`` sends no request, ``signal`` sends ``signal``, ``checkpoint`` has PBS's checkpoint
    action end the job. A job that was asked and ends with ``exit_status`` is requeued.
    """

    saves: bool = flag_setting(False)
    cost_s: float = number_setting(120, 0, unit="seconds")
    cost_per_core_s: float = number_setting(0, 0, unit="seconds per core")
    restart_s: float = number_setting(0, 0, unit="seconds")
    restart_per_core_s: float = number_setting(0, 0, unit="seconds per core")
    grace_s: float = number_setting(0, 0, unit="seconds")
    repeat_at_most_s: float = number_setting(0, 0, unit="seconds")
    method: str = choice_setting(SAVE_METHODS[0], SAVE_METHODS)
    signal: str = choice_setting("USR2", SIGNALS)
    exit_status: int = whole_setting(SAVED_STATUS, 1, 255)

    def charge_s(self, cores: int) -> float:
        """What one cut adds to the remaining run of a job with ``cores``, in seconds: saving and restarting."""
        return self.cost_s + self.restart_s + (self.cost_per_core_s + self.restart_per_core_s) * cores


@dataclass(frozen=True)
class RescueSettings(FrozenValue):
    """The rescue (docs/policies.md, P3): one run is cut for a short job that has waited long for its length."""

    enabled: bool = flag_setting(False)
    short_s: float = number_setting(1800, 1, unit="seconds")
    wait_factor: float = number_setting(2, 0)
    wait_least_s: float = number_setting(60, 0, unit="seconds")
    exempt_s: float = number_setting(1800, 0, unit="seconds")
    max_cuts: int = whole_setting(3, 1, 1_000_000)
    left_least_s: float = number_setting(7200, 0, unit="seconds")


@dataclass(frozen=True)
class QuotaSettings(FrozenValue):
    """P1: whether soft quotas preempt, which victims come first, and how long runs are exempt.

    ``counted`` names the resources whose quotas count; empty: all that have quotas. A job that may not be preempted
    (not rerunnable, or preempted ``max_preemptions`` times) starts only within quota or above the base class, unless
    ``confine_unpreemptible`` is False.

    A beneficiary waits ``delay_s`` plus ``delay_per_core_s`` times its cores before it preempts; a job whose PBS
    priority is at least ``urgent_priority`` does not wait. A victim has run for ``exempt_s`` and was preempted fewer
    than ``max_preemptions`` times, if that is set. Once a pass has ``max_victims_per_pass`` victims, no further job
    preempts in it. A preemption that has not freed its cores after ``give_up_s`` is given up.
    """

    preempt: bool = flag_setting(True)
    counted: tuple[str, ...] = setting(
        (), "the name of a consumable resource, or a list of names, each once", read_names
    )
    victim_order: str = choice_setting("smallest-sufficient", VICTIM_ORDERS)
    delay_s: float = number_setting(0, 0, unit="seconds")
    delay_per_core_s: float = number_setting(0, 0, unit="seconds per core")
    urgent_priority: int = whole_setting(1024, -1024, 1024)
    exempt_s: float = number_setting(0, 0, unit="seconds")
    max_preemptions: int | None = whole_setting(None, 0, 1_000_000)
    confine_unpreemptible: bool = flag_setting(True)
    max_victims_per_pass: int = whole_setting(100, 1, 1_000_000)
    give_up_s: float = number_setting(600, 1, unit="seconds")

    @property
    def shown(self) -> str:
        """The resource of a limit that names none: cores, unless ``counted`` leaves these out; then its first."""
        return self.counted[0] if self.counted and "ncpus" not in self.counted else "ncpus"

    @property
    def cap(self) -> float:
        """How often a job may be preempted; infinite where that is not set."""
        return math.inf if self.max_preemptions is None else self.max_preemptions


@dataclass(frozen=True)
class OrderSettings(FrozenValue):
    """The order of waiting jobs within a class.

    ``by`` is ``site``: as their scheduler's attributes and ``sched_config`` say; or ``age``: by queue priority and age,
    whatever these say. ``user_priority`` is what a user's own ``qsub -p`` orders, unless a formula, fair share or sort
    keys of the site do. ``within-user``: the user's jobs of one queue among each other, without putting any before
    another user's job; ``all``: all users' jobs; ``none``: nothing.
    """

    user_priority: str = choice_setting("within-user", USER_PRIORITIES)
    by: str = choice_setting("site", ORDERS)


@dataclass(frozen=True)
class PrioritySettings(FrozenValue):
    """P2: whether a job of a higher class preempts lower ones (rule B), and whether the deferrable jobs of a class go
    first, rather than those submitted last.

    With ``compare_queues`` the priorities of all queues are on one scale; without it only classes of one queue compare.
    """

    preempt: bool = flag_setting(True)
    deferrable_first: bool = flag_setting(False)
    compare_queues: bool = flag_setting(False)


@dataclass(frozen=True)
class Settings(FrozenValue):
    """All settings. ``Settings()`` is what a fresh installation has."""

    backfill: BackfillSettings = field(default_factory=BackfillSettings)
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    priority: PrioritySettings = field(default_factory=PrioritySettings)
    order: OrderSettings = field(default_factory=OrderSettings)
    checkpoint: CheckpointSettings = field(default_factory=CheckpointSettings)
    rescue: RescueSettings = field(default_factory=RescueSettings)
    ranking: RankingSettings = field(default_factory=RankingSettings)
    stripe: StripeSettings = field(default_factory=StripeSettings)
    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)
    forecast: ForecastSettings = field(default_factory=ForecastSettings)
    submission: SubmissionSettings = field(default_factory=SubmissionSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    alerts: AlertSettings = field(default_factory=AlertSettings)
    torque: TorqueSettings = field(default_factory=TorqueSettings)
    queues: tuple[QueueSettings, ...] = ()
    cluster: QueueSettings = field(default_factory=lambda: QueueSettings(""))

    def for_queue(self, queue: str) -> Settings:
        """The settings with the layout of a queue."""
        stripe = self.stripe.for_queue(queue)
        return self if stripe is self.stripe else replace(self, stripe=stripe)

    @classmethod
    def from_data(cls, data: Mapping[str, Any], where: str) -> Settings:
        """Settings from parsed TOML or JSON; ``where`` names the file. Raises :class:`SettingsError` with all
        problems."""
        if not isinstance(data, Mapping):
            raise SettingsError([f"{where}: {data!r}; allowed is a table of settings"])
        problems: list[str] = []
        tables: dict[str, Any] = {
            name: _table(kind, data.get(name, {}), name, where, problems) for name, kind in _TABLES
        }
        of_text = (tables["quota"] or QuotaSettings()).shown
        tables["queues"] = read_queues(data.get("queue", []), of_text, where, problems)
        tables["cluster"] = read_cluster(data.get("cluster", {}), of_text, where, problems)
        allowed = [*(name for name, _ in _TABLES), "queue", "cluster"]
        for key in data:
            if key not in allowed:
                problems.append(f"{where}: unknown key {key!r}; allowed are {', '.join(allowed)}")
        if problems:
            raise SettingsError(problems)
        settings = cls(**tables)
        conflicts = [f"{where}: {conflict}" for conflict in find_conflicts(settings)]
        if conflicts:
            raise SettingsError(conflicts)
        return settings

    def to_data(self) -> dict[str, Any]:
        """Plain data that :meth:`from_data` reads back, without values at their defaults."""
        data: dict[str, Any] = {}
        for name, kind in _TABLES:
            table = getattr(self, name)
            changed = {f.name: getattr(table, f.name) for f in fields(kind) if getattr(table, f.name) != f.default}
            if changed:
                data[name] = {key: _plain(value) for key, value in changed.items()}
        if self.queues:
            data["queue"] = [queue.to_data() for queue in self.queues]
        if self.cluster.to_data():
            data["cluster"] = self.cluster.to_data()
        return data


_TABLES: tuple[tuple[str, type[Any]], ...] = (
    ("backfill", BackfillSettings),
    ("quota", QuotaSettings),
    ("priority", PrioritySettings),
    ("order", OrderSettings),
    ("checkpoint", CheckpointSettings),
    ("rescue", RescueSettings),
    ("ranking", RankingSettings),
    ("stripe", StripeSettings),
    ("schedule", ScheduleSettings),
    ("forecast", ForecastSettings),
    ("submission", SubmissionSettings),
    ("server", ServerSettings),
    ("alerts", AlertSettings),
    ("torque", TorqueSettings),
)


def _plain(value: Any) -> Any:
    """A value as plain data: a tuple as a list, and one of pairs as a table."""
    if not isinstance(value, tuple):
        return value
    if value and isinstance(value[0], tuple):
        return {key: _plain(each) for key, each in value}
    return list(value)


def _table(kind: type[T], data: Any, name: str, where: str, problems: list[str]) -> T | None:
    if not isinstance(data, Mapping):
        problems.append(f"{where}: {name} = {data!r}; allowed is a table, [{name}]")
        return None
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            problems.append(f"{where}: unknown key {name}.{key}; allowed are {', '.join(known)}")
            continue
        try:
            kept = known[key].metadata["check"](value)
        except FormulaError as error:
            problems.append(f"{where}: {name}.{key}: {error}")
            continue
        if kept is None:
            problems.append(f"{where}: {name}.{key} = {value!r}; allowed is {known[key].metadata['allowed']}")
        else:
            values[key] = kept
    return kind(**values)


def find_conflicts(settings: Settings) -> Iterator[str]:
    """Values that are allowed for each key but not together: one line for each such pair."""
    backfill, quota, checkpoint = settings.backfill, settings.quota, settings.checkpoint
    if settings.rescue.enabled and backfill.kind == "none":
        yield (
            "rescue.enabled = True with backfill.kind = 'none', where no job is let in beside the first;"
            " allowed is backfill.kind easy or checkpoint"
        )
    if checkpoint.grace_s >= quota.give_up_s:
        yield (
            f"checkpoint.grace_s = {checkpoint.grace_s:g} with quota.give_up_s = {quota.give_up_s:g}, by when a"
            f" preemption is given up; allowed is a number less than {quota.give_up_s:g} (seconds)"
        )
    if checkpoint.method == "checkpoint" and checkpoint.grace_s <= CHECKPOINT_ACTION_S:
        yield (
            f"checkpoint.grace_s = {checkpoint.grace_s:g} with checkpoint.method = 'checkpoint', for which a MoM has"
            f" {CHECKPOINT_ACTION_S} s; allowed is a number greater than {CHECKPOINT_ACTION_S} (seconds)"
        )


def describe_settings() -> list[tuple[str, str, str]]:
    """Every key with its default and what is allowed, for documentation and ``pbsteer check``."""
    return [
        (f"{name}.{f.name}", "none" if f.default in (None, "", (), MISSING) else str(f.default), f.metadata["allowed"])
        for name, kind in _TABLES
        for f in fields(kind)
    ]
