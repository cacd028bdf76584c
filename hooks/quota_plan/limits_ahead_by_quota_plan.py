"""The limits that planned quotas bring in the time ahead, for running a cluster forward: what holds from when on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hooks.pbs.custom_resources import SOFT_LIMIT
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.quota_plan.published_quota_plan import PublishedPlan
from hooks.translate.queues import read_consumables, read_queue, read_server
from policy.forecast.simulate_until_all_started import LimitsFrom
from policy.model.limit_attributes import LimitError, Limits, parse_limits, show_limits
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota, in_force, moments


def planned_limits(
    status: ServerStatus, modes: Mapping[str, str], plan: PublishedPlan, now_s: float, until_s: float
) -> list[LimitsFrom]:
    """The limits that the plan that there is brings, where passes will set them by these modes of queues."""
    entries = [each.entry for each in plan.quotas if each.is_live]
    return limits_ahead(status, in_effect(entries, modes), set_now(plan), now_s, until_s)


def set_now(plan: PublishedPlan) -> dict[LimitKey, int | None]:
    """What the limits that are set by the plan now go back to."""
    return {each.entry.limit: each.before for each in plan.quotas if each.is_set}


def limits_ahead(
    status: ServerStatus,
    plan: Collection[PlannedQuota],
    before: Mapping[LimitKey, int | None],
    now_s: float,
    until_s: float,
) -> list[LimitsFrom]:
    """The limits at each moment of the span at which a planned quota begins or ends, in order of time.

    ``before`` has what the limits that are set by the plan now go back to; any other goes back to what it is now.
    """
    tables: dict[tuple[str, str], Limits] = {}

    def table(limit: LimitKey) -> Limits:
        place = limit.queue, limit.resource
        if place not in tables:
            texts = status.queues.get(limit.queue, {}) if limit.queue else status.server
            try:
                tables[place] = parse_limits(texts.get(f"{SOFT_LIMIT}.{limit.resource}", ""), limit.show())
            except LimitError:
                tables[place] = Limits()
        return tables[place]

    base = {entry.limit: table(entry.limit).entries.get(entry.limit.entity) for entry in plan}
    base.update(before)
    found: list[LimitsFrom] = []
    for at_s in [now_s, *moments(plan, now_s, until_s)]:
        holding = in_force(plan, at_s)
        changed: set[tuple[str, str]] = set()
        for limit, value in base.items():
            wanted = holding[limit].quota if limit in holding else value
            now = table(limit)
            if now.entries.get(limit.entity) == wanted:
                continue
            place = limit.queue, limit.resource
            tables[place] = now.without_entry(limit.entity) if wanted is None else now.with_entry(limit.entity, wanted)
            changed.add(place)
        if changed:
            found.append(_limits_from(status, tables, {queue for queue, _ in changed}, at_s))
    return found


def _limits_from(
    status: ServerStatus, tables: Mapping[tuple[str, str], Limits], changed: Collection[str], at_s: float
) -> LimitsFrom:
    consumables = read_consumables(status.resources)

    def texts(queue: str) -> dict[str, str]:
        attributes = status.queues.get(queue, {}) if queue else status.server
        new = {
            f"{SOFT_LIMIT}.{resource}": show_limits(limits) for (of, resource), limits in tables.items() if of == queue
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


def in_effect(plan: Sequence[PlannedQuota], modes: Mapping[str, str]) -> list[PlannedQuota]:
    """The entries that passes will set by these modes of queues: none where they only observe."""
    any_acts = any(mode != "observe" for mode in modes.values())
    return [
        entry
        for entry in plan
        if (modes.get(entry.limit.queue, "observe") != "observe" if entry.limit.queue else any_acts)
    ]
