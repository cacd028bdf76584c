"""The tables that the command line prints, with the same rows, columns and fields as the console's views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from policy.model.limit_attributes import EntityKey
from tui.model.typed_attributes import Attributes
from tui.state.cluster_view import ClusterView, execution_queues
from tui.state.typed_quota_scope_and_resource import quota_scopes
from tui.tables.attribute_columns import AttributesOf, attribute_column, find_attribute
from tui.tables.columns import Column, Sort, arrange, chosen, fields, numbers, usual
from tui.tables.columns_by_view.job_columns import job_columns, job_fields_also
from tui.tables.columns_by_view.queue_columns import queue_columns
from tui.tables.columns_by_view.quota_rows_and_columns import quota_columns, quota_rows
from tui.tables.columns_by_view.vnode_columns import vnode_columns, vnode_fields_also
from tui.tables.filter_line import Value, parse_filter
from tui.text.screen_line import safe

Key = TypeVar("Key")
QuotaKey = tuple[str, EntityKey]
"""A quota scope and one of its entities."""


@dataclass(frozen=True)
class Listing(Generic[Key]):
    """A table of one cluster view: all keys in their default order, columns, further filter fields, attributes, and the
    server's resources."""

    keys: Sequence[Key]
    columns: list[Column[Key]]
    also: Mapping[str, Callable[[Key], Value]]
    attributes_of: AttributesOf[Key] | None
    resources: Mapping[str, Attributes]

    def column(self, name: str) -> Column[Key]:
        """The column of that name, or one for PBS's attribute of that name. Raises ValueError with the known ones."""
        found = next((column for column in self.columns if column.name == name), None)
        if found is not None:
            return found
        spelled = find_attribute(name, self.keys, self.attributes_of) if self.attributes_of else None
        if spelled and self.attributes_of:
            return attribute_column(spelled, self.attributes_of, self.resources)
        also = ", and PBS's attributes" if self.attributes_of else ""
        raise ValueError(f"no column {name!r}; there are {', '.join(column.name for column in self.columns)}{also}")

    def usual_names(self) -> list[str]:
        """The columns that are printed by default."""
        return usual(self.columns)

    def chosen(self, names: Sequence[str]) -> list[Column[Key]]:
        """The columns of these names. Raises ValueError for an unknown one."""
        found = [self.column(name) for name in names]
        return chosen(found, [column.name for column in found])

    def arranged(self, filter_text: str, sort: Sort) -> Sequence[Key]:
        """The keys that pass a filter, sorted. Raises :class:`tui.tables.filter_line.FilterError`, or ValueError."""

        def more(name: str) -> Callable[[Key], Value] | None:
            try:
                return self.column(name).value
            except ValueError:
                return None

        known = {**self.also, **fields(self.columns)}
        wanted = parse_filter(filter_text, known, more, numbers(self.columns)) if filter_text else None
        by = [self.column(sort.column)] if sort.column else []
        return arrange(self.keys, by, wanted, sort._replace(column=by[0].name) if by else Sort())


def jobs(cluster: ClusterView) -> Listing[str]:
    """Jobs and arrays: running, waiting in the plan's order, held, and ended ones if they were requested."""
    return Listing(
        cluster.job_ids,
        job_columns(cluster),
        job_fields_also(cluster),
        cluster.with_use,
        cluster.server_status.resources,
    )


def vnodes(cluster: ClusterView) -> Listing[str]:
    """Vnodes in natural order of names."""
    seen = cluster.server_status
    return Listing(
        cluster.vnode_names, vnode_columns(cluster), vnode_fields_also(cluster), seen.vnodes.get, seen.resources
    )


def queues(cluster: ClusterView) -> Listing[str]:
    """Execution queues, those with the most jobs first."""
    seen = cluster.server_status
    return Listing(execution_queues(cluster), queue_columns(cluster), {}, seen.queues.get, seen.resources)


def quotas(cluster: ClusterView, queue: str = "", cells: int = 100) -> Listing[QuotaKey]:
    """Users, groups and projects of one quota scope, or of all, most over quota first; bars for a width in cells."""
    rows = {name: quota_rows(cluster, name) for name in ([queue] if queue else quota_scopes(cluster))}
    by_queue = {name: {c.name: c for c in quota_columns(rows[name], cells)} for name in rows}
    columns: list[Column[QuotaKey]] = [
        Column("queue", "queue", 10, lambda key: key[0], lambda k: ((safe(k[0]), ""),), most=32, names=True)
    ]
    for column in next(iter(by_queue.values()), {}).values():
        columns.append(_over_queues(column, by_queue))
    keys = [(name, entity) for name in rows for entity in rows[name]]
    return Listing(keys, columns, {}, None, {})


def _over_queues(
    column: Column[EntityKey], by_queue: Mapping[str, Mapping[str, Column[EntityKey]]]
) -> Column[QuotaKey]:
    """A column that uses, for each key, the column of the key's own scope."""
    name = column.name

    def own(key: QuotaKey) -> Column[EntityKey]:
        return by_queue[key[0]][name]

    def export_value(key: QuotaKey) -> Value:
        return (own(key).export_value or own(key).value)(key[1])

    return Column(
        name,
        "" if column.drawn else column.title,
        column.cells,
        lambda key: own(key).value(key[1]),
        lambda key: own(key).show(key[1]),
        column.align,
        column.rank,
        column.most,
        export_value=export_value,
        filter_value=(lambda key: (own(key).filter_value or own(key).value)(key[1])) if column.filter_value else None,
        drawn=column.drawn,
        names=column.names,
    )


LISTINGS: Mapping[str, Callable[[ClusterView], Listing[str]]] = {"jobs": jobs, "vnodes": vnodes, "queues": queues}
"""The tables whose rows are objects of PBS, by name."""
