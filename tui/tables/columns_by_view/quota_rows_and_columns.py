"""The rows and columns of the quotas view: the use of each user, group and project beside their quota in one scope.

There is a row for each user with a job in the queue, for each group and project if a generic entry applies to them, and
for each entry. The quota shown is the one that applies: the own entry, else the generic one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from hooks.pbs.custom_resources import PRIORITY
from hooks.quota_plan.published_quota_plan import ShownQuota
from hooks.record.hourly_use import Trend
from policy.model.limit_attributes import ALL, GENERIC, EntityKey, show_entity
from tui.backends.interface.read_value_before_and_after_change import show_limit
from tui.model.job_efficiency import LOW
from tui.model.status_counts import Use, UserKey
from tui.model.typed_attributes import soft_limits
from tui.state.cluster_view import ClusterView
from tui.state.typed_quota_scope_and_resource import QuotaScope, quota_scopes, scope_of
from tui.tables.column_layout import GAP
from tui.tables.columns import SPARE, Column
from tui.text.screen_line import Line, safe, width
from tui.text.text_bars import day_line, quota_bar, round_scale, ruler
from tui.text.times_and_durations import day_and_time

_NOTHING = Use()
_OTHER_CELLS = 54
"""The cells that the other columns, the gaps and the cursor take of a line beside names and bars."""
_MORE_CELLS = 6
"""The cells that the GPUs take, and that the efficiency takes."""
_LEAST_PLANNED_CELLS = 22
_NAME_CELLS, _MOST_NAME_CELLS = 14, 32
_DAY_CELLS = ((140, 24), (108, 12))
"""From so many cells of a line on, so many cells for the hours of the last day."""
_FEWEST_DAY_CELLS = 8
"""For the hours where a narrower line is to have them."""


_Uses = dict[str, Use]


class QuotaRow(NamedTuple):
    """One entity's quota and use in one scope; ``own`` is False if the quota is not the entity's own entry.
    ``efficiency`` is the share of its cores that a user keeps busy, where that is known. ``planned`` are the planned
    quotas and priorities that are set or still to come, the first one first."""

    entity: EntityKey
    quota: int | None
    own: bool
    use: Use
    priority: int | None
    efficiency: float | None = None
    planned: tuple[ShownQuota, ...] = ()

    @property
    def over(self) -> int | None:
        """Cores over the quota, negative below it; None without a quota."""
        return None if self.quota is None or self.entity[1] == GENERIC else self.use.cores - self.quota


def quota_rows(cluster: ClusterView, queue: str) -> dict[EntityKey, QuotaRow]:
    """The rows of one scope (:mod:`tui.state.typed_quota_scope_and_resource`), most over quota first."""
    scope = scope_of(cluster, queue)
    attributes = scope.attributes(cluster.server_status)
    quotas = soft_limits(attributes, scope.resource).entries
    priorities = soft_limits(attributes, PRIORITY).entries
    users, groups, projects = _uses_in(cluster, scope)
    entities = dict.fromkeys([("u", name) for name in users], True)
    for kind, uses in (("g", groups), ("p", projects)):
        if (kind, GENERIC) in quotas:
            entities.update(dict.fromkeys([(kind, name) for name in uses if name], True))
    planned = planned_in(cluster, scope)
    entities.update(dict.fromkeys([*quotas, *priorities, *planned], True))
    by_kind = {"u": users, "g": groups, "p": projects}
    rows = {}
    for entity in entities:
        kind, name = entity
        quota = quotas.get(entity)
        generic = quotas.get((kind, GENERIC)) if kind != "o" else None
        use = by_kind.get(kind, {}).get(name, _NOTHING)
        if entity == ALL:
            use = _sum(list(users.values()))
        priority = priorities.get(entity, priorities.get((kind, GENERIC)) if kind != "o" else None)
        rows[entity] = QuotaRow(
            entity,
            generic if quota is None else quota,
            quota is not None,
            use,
            priority,
            cluster.efficiency.get((scope.queue, name)) if kind == "u" else None,
            tuple(planned.get(entity, ())),
        )
    return dict(sorted(rows.items(), key=lambda item: _most_over(item[1])))


def rows_over_quota(cluster: ClusterView) -> dict[str, list[QuotaRow]]:
    """The rows that are over their quota, most over first, by scope: those of users, groups and projects in each queue,
    in the whole cluster, and of each resource with quotas. Scopes without any are left out."""
    found = {
        scope: [row for row in quota_rows(cluster, scope).values() if (row.over or 0) > 0]
        for scope in quota_scopes(cluster)
    }
    return {scope: rows for scope, rows in found.items() if rows}


def planned_in(cluster: ClusterView, scope: QuotaScope) -> dict[EntityKey, list[ShownQuota]]:
    """The planned quotas of a scope that are set or still to come, and the planned priorities of its queue, by entity,
    in order of time."""
    found: dict[EntityKey, list[ShownQuota]] = {}
    for each in sorted(cluster.passes.quota_plan.quotas, key=lambda each: each.entry.from_s):
        limit = each.entry.limit
        if each.is_live and limit.queue == scope.queue and limit.resource in (scope.resource, PRIORITY):
            found.setdefault(limit.entity, []).append(each)
    return found


def _uses_in(cluster: ClusterView, scope: QuotaScope) -> tuple[_Uses, _Uses, _Uses]:
    """The use of users, of groups and of projects, by name, as quotas count it: a job with exclusive vnodes counts with
    all of their cores, and a chunk without cores with one. Before
    there is a plan, with the cores that its jobs ask for."""
    counts = cluster.counts_of(scope.resource)
    kept = {}
    if cluster.decision is not None:
        kept = cluster.decision.snapshot.use(scope.queue, scope.resource)
    found = []
    for kind, uses in (("u", counts.users), ("g", counts.groups), ("p", counts.projects)):
        summed = _summed(uses, scope.queue)
        found.append({name: replace(use, cores=kept.get((kind, name), use.cores)) for name, use in summed.items()})
    users, groups, projects = found
    return users, groups, projects


def _summed(uses: dict[UserKey, Use], queue: str) -> _Uses:
    """Each entity's use in a queue; in all queues if it is empty."""
    if queue:
        return {name: use for (where, name), use in uses.items() if where == queue}
    by_name: dict[str, list[Use]] = {}
    for (_, name), use in uses.items():
        by_name.setdefault(name, []).append(use)
    return {name: _sum(parts) for name, parts in by_name.items()}


def _most_over(row: QuotaRow) -> tuple[float, str, str]:
    return (-row.over if row.over is not None else float("inf"), *row.entity)


def _sum(uses: list[Use]) -> Use:
    return Use(
        sum(use.cores for use in uses),
        sum(use.running for use in uses),
        sum(use.waiting for use in uses),
        sum(use.waiting_cores for use in uses),
        sum(use.gpus for use in uses),
    )


def show_name(entity: EntityKey) -> str:
    """A user's plain name; other entities as PBS writes them."""
    kind, name = entity
    if name == GENERIC:
        return f"{'' if kind == 'u' else kind + ':'}everyone else"
    return safe(name) if kind == "u" else safe(show_entity(entity))


def name_cells(rows: Iterable[EntityKey]) -> int:
    """The width of these rows' names in cells, within limits."""
    longest = max((width(show_name(entity)) for entity in rows), default=0)
    return max(_NAME_CELLS, min(longest, _MOST_NAME_CELLS))


TrendOf = Callable[[EntityKey], Trend]
"""The hours of the last day of an entity of the scope."""


def show_planned(planned: Sequence[ShownQuota]) -> str:
    """The first of an entity's planned quotas: ``until Fri 05 Dec 18:00`` while it is set, else ``64 Mon 01 Dec 08:00 –
    Fri 05 Dec 18:00``; and how many come after it."""
    if not planned:
        return ""
    first = planned[0]
    entry = first.entry
    what = f"prio {show_limit(entry.quota)}" if entry.limit.resource == PRIORITY else show_limit(entry.quota)
    end = day_and_time(entry.until_s, 0)
    span = f"until {end}" if first.is_set else f"{what} {day_and_time(entry.from_s, 0)} – {end}"
    state = f" ({safe(first.state)})" if first.why else ""
    more = f" +{len(planned) - 1}" if len(planned) > 1 else ""
    return f"{span}{state}{more}"


def quota_columns(
    rows: dict[EntityKey, QuotaRow], cells: int, names: int = 0, trend_of: TrendOf | None = None
) -> list[Column[EntityKey]]:
    """The columns over these rows; the line's width ``cells`` decides the length of the bars beside names of at least
    ``names`` cells. ``trend_of`` is None where no trend is kept of the resource."""
    names = max(names, name_cells(rows))
    has_gpus = any(row.use.gpus for row in rows.values())
    has_figures = any(row.efficiency is not None for row in rows.values())
    day_cells = next((hours for least, hours in _DAY_CELLS if cells >= least), 0)
    longest = max((width(show_planned(row.planned)) for row in rows.values()), default=0)
    planned_cells = min(longest, max(_LEAST_PLANNED_CELLS, cells // 3))
    taken = _OTHER_CELLS + names + _MORE_CELLS * (has_gpus + has_figures)
    taken += planned_cells + len(GAP) if longest else 0
    taken += day_cells + len(GAP) if day_cells and trend_of is not None else 0
    return [
        _name_column(min(names, max(_NAME_CELLS, cells // 4))),
        *_quota_columns(rows),
        *_use_columns(rows, has_gpus=has_gpus, has_figures=has_figures),
        _bar_column(rows, max(8, cells - taken)),
        *([_day_column(rows, trend_of, day_cells)] if trend_of is not None else []),
        *([_planned_column(rows, planned_cells)] if longest else []),
        *_note_columns(rows),
    ]


def _name_column(cells: int) -> Column[EntityKey]:
    """Whose row it is."""
    return Column(
        "user",
        "user",
        cells,
        lambda entity: entity[1],
        lambda entity: ((show_name(entity), ""),),
        most=_MOST_NAME_CELLS,
        names=True,
        export_value=lambda entity: entity[1] if entity[0] == "u" else show_entity(entity),
    )


def _quota_columns(rows: dict[EntityKey, QuotaRow]) -> list[Column[EntityKey]]:
    """The priority and the quota; a star beside one that is the generic entry's."""

    def priority(entity: EntityKey) -> Line:
        found = rows[entity].priority
        return ((f"{found}", ""),) if found is not None else (("-", "dim"),)

    def quota(entity: EntityKey) -> Line:
        row = rows[entity]
        if row.quota is None:
            return (("none", "dim"),)
        return ((f"{row.quota:,}" + ("" if row.own else "*"), "" if row.own else "dim"),)

    return [
        Column("prio", "prio", 4, lambda entity: rows[entity].priority, priority, ">", 3),
        Column("quota", "quota", 7, lambda entity: rows[entity].quota, quota, ">"),
    ]


def _use_columns(rows: dict[EntityKey, QuotaRow], *, has_gpus: bool, has_figures: bool) -> list[Column[EntityKey]]:
    """The cores and GPUs in use, and the share of the cores that is kept busy."""

    def gpus(entity: EntityKey) -> Line:
        return ((f"{rows[entity].use.gpus:,}", ""),) if rows[entity].use.gpus else (("-", "dim"),)

    def efficiency(entity: EntityKey) -> int | None:
        share = rows[entity].efficiency
        return None if share is None else round(100 * share)

    def show_efficiency(entity: EntityKey) -> Line:
        found = efficiency(entity)
        return (("-", "dim"),) if found is None else ((f"{found}%", "warn" if found < 100 * LOW else ""),)

    return [
        Column(
            "used", "used", 6, lambda entity: rows[entity].use.cores, lambda e: ((f"{rows[e].use.cores:,}", ""),), ">"
        ),
        *([Column("gpus", "gpus", 4, lambda e: rows[e].use.gpus, gpus, ">", 4)] if has_gpus else []),
        Column("eff", "eff", 4, efficiency, show_efficiency, ">", 5 if has_figures else SPARE),
    ]


def _bar_column(rows: dict[EntityKey, QuotaRow], cells: int) -> Column[EntityKey]:
    """The use as a bar with the quota marked, all on one scale, which the title shows."""
    scale = round_scale(max((max(row.use.cores, row.quota or 0) for row in rows.values()), default=0))
    return Column(
        "bar",
        ruler(scale, cells),
        cells,
        lambda entity: rows[entity].use.cores,
        lambda entity: quota_bar(rows[entity].use.cores, rows[entity].quota, scale, cells),
        rank=1,
        drawn=True,
    )


def _day_column(rows: dict[EntityKey, QuotaRow], trend_of: TrendOf, day_cells: int) -> Column[EntityKey]:
    """The use by hour over the last day; ``day_cells`` is 0 on a line too narrow for it."""

    def day(entity: EntityKey) -> float | None:
        known = [hour for hour in trend_of(entity) if hour is not None]
        return round(sum(known) / len(known), 1) if known else None

    def show_day(entity: EntityKey) -> Line:
        hours = trend_of(entity)
        full = max([rows[entity].quota or 0, *(hour for hour in hours if hour is not None)])
        return day_line(hours, full, day_cells or _FEWEST_DAY_CELLS)

    return Column(
        "day",
        "last 24 h" if day_cells else "24 h",
        day_cells or _FEWEST_DAY_CELLS,
        day,
        show_day,
        rank=3 if day_cells else SPARE,
    )


def _planned_column(rows: dict[EntityKey, QuotaRow], cells: int) -> Column[EntityKey]:
    """The planned quotas that are set or still to come."""
    return Column(
        "planned",
        "planned",
        cells,
        lambda entity: rows[entity].planned[0].entry.from_s if rows[entity].planned else None,
        lambda entity: ((show_planned(rows[entity].planned), ""),) if rows[entity].planned else (),
        export_value=lambda entity: show_planned(rows[entity].planned),
    )


def _note_columns(rows: dict[EntityKey, QuotaRow]) -> list[Column[EntityKey]]:
    """How far over or below the quota the use is, and how many jobs wait."""

    def note(entity: EntityKey) -> Line:
        over = rows[entity].over
        if over is None:
            return ()
        return ((f"over {over:,}", "warn"),) if over > 0 else ((f"free {-over:,}", ""),)

    def waits(entity: EntityKey) -> Line:
        waiting = rows[entity].use.waiting
        return ((f"{waiting:,} job{'' if waiting == 1 else 's'}", ""),) if waiting else ()

    return [
        Column("over", "free or over", 12, lambda entity: rows[entity].over, note),
        Column("waits", "waiting", 10, lambda entity: rows[entity].use.waiting, waits, rank=2),
    ]
