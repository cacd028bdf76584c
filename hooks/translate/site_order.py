"""A scheduler's own order of jobs, read from its attributes and files as PBS's scheduler reads them (``parse.cpp``).

What cannot be honoured is returned as a sentence, and keeps the scheduler's queues from being driven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Callable, NamedTuple

from hooks.pbs.files_and_output.fair_share_files import read_groups, read_usage
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import (
    RESOURCE_GROUP,
    USAGE,
    Options,
    SchedFiles,
    is_true,
    read_options,
)
from hooks.pbs.scheduler_object_of_queue import find_scheduler
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus, read_whole
from hooks.translate.closures.prime_time import read_prime_time
from hooks.translate.queues import read_consumables
from policy.model.pbs_units import UnitError, parse_duration_s, parse_size_kib
from policy.order.fair_share_tree import FairShareTree
from policy.order.job_sort_formula import (
    ACCRUE_TYPE,
    ELIGIBLE_TIME,
    JOB_PRIORITY,
    KEYWORDS,
    OF_SHARE,
    QUEUE_PRIORITY,
    FormulaError,
    JobSortFormula,
    as_float32,
    read_formula,
)
from policy.order.site_order_settings import (
    BY_QUEUE,
    NO_THRESHOLD,
    RANK,
    ROUND_ROBIN,
    TOGETHER,
    FairShare,
    SiteOrder,
    SortKey,
)

_SHOWN = 80
_ENTITIES = ("euser", "egroup", "Account_Name", "queue", "egroup:euser")
_EXPRESS, _NORMAL, _OF_SHARES = "express_queue", "normal_jobs", "fairshare"
_EXPRESS_FROM = 150
"""``preempt_queue_prio`` where it is not set (pbs_internal.h)."""
_NUMBERS = frozenset({"long", "float", "size", "duration"})
_BUILT_IN = frozenset({
    "ncpus", "mem", "vmem", "walltime", "cput", "nodect", "file", "pmem", "pcput", "pvmem", "mpiprocs", "soft_walltime",
    "min_walltime", "max_walltime",
})  # fmt: skip
_SPECIAL_KEYS = frozenset({"job_priority", "fair_share_perc", "preempt_priority"})
_OLD_KEYS = {"sort_priority": "job_priority"}
_DECIMALS = 4
"""PBS's ``FLOAT_NUM_DIGITS``."""
_DEEPEST = 100
"""Levels of a fair share tree; no site has as many."""


class OrderFacts(NamedTuple):
    """What a scheduler's order needs of each job: the names of numbers, and the attribute with its fair share entity
    ("" without fair share). ``is_explicit``: the site says by what jobs of a queue are ordered."""

    needs: tuple[str, ...] = ()
    entity: str = ""
    is_explicit: bool = False

    def values_of(self, texts: Attributes) -> tuple[float, ...]:
        """The job's numbers, in the order of ``needs``."""
        return tuple([_value_reader(name)(texts) for name in self.needs]) if self.needs else ()

    def entity_of(self, texts: Attributes, queue: str) -> str:
        """The job's fair share entity. Without the attribute it is group and user, as PBS's scheduler has it."""
        if not self.entity:
            return ""
        entity = queue if self.entity == "queue" else texts.get(self.entity, "")
        return entity or f"{texts.get('egroup', '')}:{texts.get('euser', '')}"


class ReadOrder(NamedTuple):
    """A scheduler's order, or the sentence on why it cannot be honoured; neither if it has no file to be read here."""

    order: SiteOrder | None = None
    obstacle: str = ""
    facts: OrderFacts = OrderFacts()


def read_site_orders(server_status: ServerStatus, queues: Iterable[str], files: SchedFiles) -> dict[str, ReadOrder]:
    """The order of the scheduler of each of these queues; the queues of one scheduler share it."""
    of_scheduler: dict[str, ReadOrder] = {}
    found = {}
    for queue in queues:
        scheduler = find_scheduler(server_status, queue)
        if scheduler is None:
            continue
        if scheduler not in of_scheduler:
            of_scheduler[scheduler] = _read(server_status, scheduler, files)
        found[queue] = of_scheduler[scheduler]
    return found


class _NotHonouredError(Exception):
    """Something of the order cannot be honoured; the message is the sentence."""


def _read(server_status: ServerStatus, scheduler: str, files: SchedFiles) -> ReadOrder:
    own = files.get(scheduler, {})
    if "sched_config" not in own:
        return ReadOrder()
    try:
        prime = read_prime_time(own.get("holidays", "")).is_prime(server_status.time_s)
        return _read_options(server_status, scheduler, read_options(own["sched_config"], prime=prime), own)
    except _NotHonouredError as error:
        return ReadOrder(obstacle=f"{error}, which pbsteer does not honour")


def _read_options(server_status: ServerStatus, scheduler: str, options: Options, own: Mapping[str, str]) -> ReadOrder:
    texts = server_status.scheds.get(scheduler, {})
    numbers = _BUILT_IN | {
        name for name, about in server_status.resources.items() if about.get("type", "") in _NUMBERS
    } | read_consumables(server_status.resources)  # fmt: skip
    is_fair, rotates = is_true(options, "fair_share"), is_true(options, "round_robin")
    text = texts.get("job_sort_formula", "") or server_status.server.get("job_sort_formula", "")
    formula = _read_expression("job_sort_formula", text, numbers) if text else None
    keys = tuple(_read_key(value, numbers) for value in options.get("job_sort_key", ()))
    uses_shares = is_fair or (formula is not None and not OF_SHARE.isdisjoint(formula.uses))
    uses_shares = uses_shares or any(key.name == "fair_share_perc" for key in keys)
    entity, tree, fair_share, usage = "", None, None, None
    if uses_shares:
        entity = options.get("fairshare_entity", ["euser"])[-1]
        if entity not in _ENTITIES:
            raise _NotHonouredError(f"fairshare_entity is {entity[:_SHOWN]}")
        if is_fair and rotates:
            raise _NotHonouredError("fair_share and round_robin are both true")
        tree = _read_tree(server_status, options, own, OrderFacts(entity=entity))
    if is_fair and tree is not None:
        usage = _read_expression("fairshare_usage_res", options.get("fairshare_usage_res", ["cput"])[-1], numbers)
        enforced = is_true(options, "fairshare_enforce_no_shares", missing=True)
        fair_share = FairShare(tree, usage, enforced, *_read_decay(options))
    preempts = is_true(options, "preemptive_sched")
    levels = texts.get("preempt_prio", "") or f"{_EXPRESS}, {_NORMAL}"
    if preempts and _OF_SHARES in levels:
        raise _NotHonouredError(f"preempt_prio ({levels[:_SHOWN]}) orders by fair share")
    if preempts and _EXPRESS in levels.partition(_NORMAL)[2]:
        raise _NotHonouredError(f"preempt_prio ({levels[:_SHOWN]}) has express queues below normal jobs")
    least = read_whole(texts.get("preempt_queue_prio", ""), _EXPRESS_FROM)
    taken = ROUND_ROBIN if rotates else BY_QUEUE if is_true(options, "by_queue") else TOGETHER
    of_jobs = {*(formula.uses if formula else ()), *(key.name for key in keys), *(usage.uses if usage else ())}
    has_ranks = any(RANK in job for job in server_status.jobs.values())
    order = SiteOrder(
        scheduler,
        tuple(server_status.queues),
        taken,
        least if preempts and _EXPRESS in levels else None,
        formula,
        _read_threshold(texts),
        fair_share,
        keys,
        tree,
        (*((RANK,) if has_ranks else ()), *sorted(of_jobs - OF_SHARE - {QUEUE_PRIORITY, "preempt_priority"})),
    )
    return ReadOrder(order, facts=OrderFacts(order.needs, entity, order.is_explicit))


def _read_tree(
    server_status: ServerStatus, options: Options, own: Mapping[str, str], facts: OrderFacts
) -> FairShareTree:
    """A scheduler's fair share tree with the usage of its file and the entities of all jobs."""
    groups = read_groups(own.get(RESOURCE_GROUP, ""))
    usage, decayed_s = read_usage(own.get(USAGE, ""))
    entities = {facts.entity_of(texts, texts.get("queue", "")) for texts in server_status.jobs.values()}
    unknown = read_whole(options.get("unknown_shares", ["0"])[-1], 0)
    tree = FairShareTree(groups, unknown, usage, sorted(entities), decayed_s)
    if any(len(node.path) > _DEEPEST for node in tree.nodes.values()):
        raise _NotHonouredError(f"the resource_group file has more than {_DEEPEST} levels")
    return tree


def _read_decay(options: Options) -> tuple[float, float]:
    """The interval and the factor of decay; a value that a scheduler would not take leaves its default."""
    interval = (options.get("fairshare_decay_time") or options.get("half_life") or ["24:00:00"])[-1]
    factor = read_number(options.get("fairshare_decay_factor", ["0.5"])[-1])
    try:
        interval_s = float(parse_duration_s(interval))
    except UnitError:
        interval_s = math.inf if interval.lower().startswith("unlimited") else 86400.0
    return interval_s, as_float32(factor) if 0 < factor < 1 else 0.5


def _read_expression(what: str, text: str, numbers: frozenset[str]) -> JobSortFormula:
    try:
        return read_formula(text, numbers | KEYWORDS)
    except FormulaError as error:
        raise _NotHonouredError(f"{what} ({text[:_SHOWN]}) {error}") from None


def _read_key(text: str, numbers: frozenset[str]) -> SortKey:
    name, _, direction = text.replace("\t", " ").strip().partition(" ")
    direction = direction.strip().partition(" ")[0]
    name = _OLD_KEYS.get(name, name)
    if direction not in ("high", "HIGH", "High", "low", "LOW", "Low"):
        raise _NotHonouredError(f"job_sort_key is {text[:_SHOWN]!r}, without HIGH or LOW")
    if name not in numbers and name not in _SPECIAL_KEYS:
        raise _NotHonouredError(f"job_sort_key {name[:_SHOWN]} is no number")
    return SortKey(name, direction.lower() == "high")


def _read_threshold(texts: Attributes) -> float:
    try:
        return float(texts["job_sort_formula_threshold"])
    except (KeyError, ValueError):
        return NO_THRESHOLD


@lru_cache(maxsize=256)
def _value_reader(name: str) -> Callable[[Attributes], float]:
    """How the number of a name is read from a job's attributes: a keyword, its rank, or what it requests."""
    if name == ELIGIBLE_TIME:
        return lambda texts: _seconds(texts.get(ELIGIBLE_TIME, ""))
    if name in (ACCRUE_TYPE, RANK):
        return lambda texts: read_whole(texts.get(name, ""), 0)
    if name == JOB_PRIORITY:
        return lambda texts: read_whole(texts.get("Priority", ""), 0)
    attribute = f"Resource_List.{name}"
    return lambda texts: read_number(texts.get(attribute, ""))


def read_number(text: str) -> float:
    """A requested or used amount as PBS's scheduler puts it into a formula: sizes in KiB, times in seconds, and no more
    than four decimals."""
    if not text:
        return 0
    if text.isascii() and text.isdigit():
        return int(text)
    return _read_other(text)


@lru_cache(maxsize=8192)
def _read_other(text: str) -> float:
    stripped = text.strip()
    try:
        if ":" in stripped:
            return parse_duration_s(stripped)
        if stripped[-1:].isalpha():
            return parse_size_kib(stripped)
        number = round(float(stripped), _DECIMALS)
        return number if math.isfinite(number) else 0
    except (UnitError, ValueError, OverflowError):
        return 0


@lru_cache(maxsize=8192)
def _seconds(text: str) -> int:
    try:
        return parse_duration_s(text) if text else 0
    except UnitError:
        return 0


def needed_attributes(server_status: ServerStatus, files: SchedFiles) -> tuple[str, ...]:
    """The attributes of jobs, beyond those that every pass reads, by which these schedulers order jobs."""
    names = {RANK}
    for scheduler, texts in server_status.scheds.items():
        if texts.get("job_sort_formula", "") or server_status.server.get("job_sort_formula", ""):
            names |= {ELIGIBLE_TIME, ACCRUE_TYPE}
        if RESOURCE_GROUP in files.get(scheduler, {}) or USAGE in files.get(scheduler, {}):
            names |= {"Account_Name", "resources_used"}
    return tuple(sorted(names))
