"""The limits that planned quotas bring in the time ahead, for running a cluster forward: what holds from when on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hooks.pbs.custom_resources import SOFT_LIMIT
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.quota_plan.published_quota_plan import PublishedPlan
from hooks.quota_plan.set_due_planned_quotas_on_server import read_limits
from hooks.translate.queues import read_consumables, read_queue, read_server
from policy.forecast.simulate_forward import LimitsFrom
from policy.model.limit_attributes import Limits, parse_limits, show_limits
from policy.quota_plan.limits_due import IN_FORCE
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota, in_force, moments

Before = Mapping[LimitKey, "int | None"]
"""What the limits that the plan has set go back to."""


def planned_limits(
    status: ServerStatus,
    modes: Mapping[str, str],
    plan: PublishedPlan,
    now_s: float,
    until_s: float,
    before: Before | None = None,
) -> list[LimitsFrom]:
    """The limits that the plan brings, where passes set them by these modes of queues.

    A pass gives ``before`` from its own record. Without it, the published plan says what is set; a limit that has
    another value now was changed by hand since, and passes leave it.
    """
    entries = [each.entry for each in plan.quotas if each.is_live]
    if before is None:
        now = read_limits(status, [entry.limit for entry in entries])
        by_hand = {
            each.entry.limit
            for each in plan.quotas
            if each.state == IN_FORCE and now.get(each.entry.limit) != each.entry.quota
        }
        entries = [entry for entry in entries if entry.limit not in by_hand or not entry.holds_at(now_s)]
        before = {limit: value for limit, value in set_now(plan).items() if limit not in by_hand}
    return limits_ahead(status, in_effect(entries, modes, before, now_s), before, now_s, until_s)


def set_now(plan: PublishedPlan) -> dict[LimitKey, int | None]:
    """What the limits that are set by the plan now go back to."""
    return {each.entry.limit: each.before for each in plan.quotas if each.sets_limit}


def limits_ahead(
    status: ServerStatus, plan: Collection[PlannedQuota], before: Before, now_s: float, until_s: float
) -> list[LimitsFrom]:
    """The limits at each moment of the span at which a planned quota begins or ends, in order of time.

    A limit goes back to its value of ``before``, any other to what it is now. A limit that cannot be read stays as
    it is, because passes leave it too.
    """
    base = read_limits(status, [*(entry.limit for entry in plan), *before])
    base.update((limit, value) for limit, value in before.items() if limit in base)
    entries: dict[LimitKey, list[PlannedQuota]] = {limit: [] for limit in base}
    for entry in plan:
        if entry.limit in base:
            entries[entry.limit].append(entry)
    due: dict[float, list[LimitKey]] = {now_s: list(base)}
    for limit, of_limit in entries.items():
        for at_s in moments(of_limit, now_s, until_s):
            due.setdefault(at_s, []).append(limit)
    tables: dict[tuple[str, str], Limits] = {}
    found: list[LimitsFrom] = []
    for at_s in sorted(due):
        changed = set()
        for limit in due[at_s]:
            place = limit.queue, limit.resource
            now = tables[place] if place in tables else _read_table(status, *place)
            holding = in_force(entries[limit], at_s).get(limit)
            wanted = base[limit] if holding is None else holding.quota
            if now.entries.get(limit.entity) != wanted:
                now = now.without_entry(limit.entity) if wanted is None else now.with_entry(limit.entity, wanted)
                changed.add(limit.queue)
            tables[place] = now
        if changed:
            found.append(_limits_from(status, tables, changed, at_s))
    return found


def _read_table(status: ServerStatus, queue: str, resource: str) -> Limits:
    texts = status.queues.get(queue, {}) if queue else status.server
    return parse_limits(texts.get(f"{SOFT_LIMIT}.{resource}", ""), SOFT_LIMIT)


def _limits_from(
    status: ServerStatus, tables: Mapping[tuple[str, str], Limits], changed: Collection[str], at_s: float
) -> LimitsFrom:
    consumables = read_consumables(status.resources)

    def texts(queue: str) -> dict[str, str]:
        attributes = status.queues.get(queue, {}) if queue else status.server
        new = {
            f"{SOFT_LIMIT}.{resource}": show_limits(limits)
            for (of_queue, resource), limits in tables.items()
            if of_queue == queue
        }
        return {**attributes, **new}

    queues = [
        read_queue(queue, texts(queue), managed=True, consumables=consumables, report=_ignore)
        for queue in sorted(changed)
        if queue
    ]
    server = read_server("", texts(""), consumables, _ignore).quotas if "" in changed else None
    return LimitsFrom(at_s, queues, server)


def _ignore(_queue: str, _problem: str) -> None:
    """Problems of the server's attributes are reported where the whole status is read."""


def in_effect(
    plan: Sequence[PlannedQuota], modes: Mapping[str, str], before: Before, now_s: float
) -> list[PlannedQuota]:
    """The entries that passes set by these modes of queues, and those that are set already. In a queue in ``observe``
    no entry is set, but one that is set already holds until its end."""
    any_acts = any(mode != "observe" for mode in modes.values())

    def will_be_in_force(entry: PlannedQuota) -> bool:
        if entry.limit in before and entry.holds_at(now_s):
            return True
        return modes.get(entry.limit.queue, "observe") != "observe" if entry.limit.queue else any_acts

    return [entry for entry in plan if will_be_in_force(entry)]
