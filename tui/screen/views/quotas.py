"""The quotas view: use and quota of each entry in one queue; left and right go to the other queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policy.model.limit_attributes import GENERIC, EntityKey
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.bases.visited_places import Place
from tui.state.cluster_view import ClusterView
from tui.state.typed_quota_scope_and_resource import quota_scopes, scope_of
from tui.tables.columns import Column
from tui.tables.columns_by_view.quota_rows_and_columns import QuotaRow, TrendOf, name_cells, quota_columns, quota_rows
from tui.tables.export_table import Origin

_ROOM_FOR_SUMS = 110
"""Narrower titles have no room for them beside a filter."""


class QuotasView(TableView[EntityKey]):
    """Users, groups and the generic entry of one queue."""

    view_name = "quotas"
    nothing = "no user has a job or a quota in this queue"

    def __init__(self) -> None:
        super().__init__()
        self.queue = ""
        self._rows: dict[EntityKey, QuotaRow] = {}
        self._name_cells = 0
        self.shows_idle = False
        self._idle = 0

    def keys(self, cluster: ClusterView) -> Sequence[EntityKey]:
        """The entries, most over quota first; those without jobs only where they were asked for."""
        queues = quota_scopes(cluster)
        if self.queue not in queues:
            self.queue = queues[0] if queues else ""
        self._rows = quota_rows(cluster, self.queue)
        idle = {entity for entity, row in self._rows.items() if not (row.use.running or row.use.waiting or row.planned)}
        idle -= {entity for entity in idle if entity[1] == GENERIC}
        self._idle = len(idle)
        return [entity for entity in self._rows if self.shows_idle or entity not in idle]

    def unfold(self) -> str:
        """Show the entries without jobs, or hide them; returns what is shown now."""
        self.shows_idle = not self.shows_idle
        self.table.expect_other_rows()
        self.repaint()
        words = "and those without jobs" if self.shows_idle else "with jobs"
        return f"users, groups and projects {words}"

    def columns(self, cluster: ClusterView) -> list[Column[EntityKey]]:
        """The columns, with bars as long as there is room for. The names' column never becomes narrower for one queue,
        so that the others stay in place.
        """
        self._name_cells = max(self._name_cells, name_cells(self._rows))
        return quota_columns(self._rows, self.size.width, self._name_cells, self._trend_of(cluster))

    def _trend_of(self, cluster: ClusterView) -> TrendOf | None:
        """The last day of each entry; None for a resource of which none is kept."""
        scope = scope_of(cluster, self.queue)
        if self.shown is None or scope.resource != cluster.counted:
            return None
        use, now_s = self.shown.day.use, cluster.now_s
        return lambda entity: use.trend(scope.queue, *entity, now_s)

    def heading(self, cluster: ClusterView) -> str:
        """The queue and the resource, and what use and quotas of the users add up to."""
        scope = scope_of(cluster, self.queue)
        users = [row for (kind, name), row in self._rows.items() if kind == "u" and name != GENERIC]
        used, quotas = sum(row.use.cores for row in users), sum(row.quota or 0 for row in users if row.own)
        has_room = self.size.width >= _ROOM_FOR_SUMS
        sums = f" · used {used:,}, quotas add up to {quotas:,}" if has_room else f" · {used:,} of {quotas:,}"
        if not any(row.own and row.quota is not None for row in users):
            sums = f" · used {used:,}, no user has an own quota" if has_room else f" · {used:,} used"
        hidden = f" · {self._idle:,} without jobs, x" if self._idle and not self.shows_idle else ""
        planned = sum(len(row.planned) for row in self._rows.values())
        coming = f" · {planned:,} planned" if planned and has_room else ""
        return f"quotas · {scope.place} · {scope.resource}{sums}{coming}{hidden}"

    def move(self, name: str) -> None:
        """Left and right choose the queue."""
        if name not in ("left", "right"):
            super().move(name)
        elif self.shown is not None:
            queues = quota_scopes(self.shown.cluster)
            if self.queue in queues:
                self.choose(queues[(queues.index(self.queue) + (1 if name == "right" else -1)) % len(queues)])

    @property
    def place(self) -> Place:
        """The place, with the queue as its subject."""
        return replace(super().place, subject=self.queue)

    def resume(self, place: Place) -> None:
        """Take the state of a place, with its queue."""
        super().resume(place)
        self.queue = place.subject or self.queue
        self._name_cells = 0

    def choose(self, queue: str) -> None:
        """Show another queue."""
        self.queue = queue
        self._name_cells = 0
        self.table.expect_other_rows()
        self.repaint()

    def name_of(self, key: EntityKey) -> str:
        """The user's or group's name."""
        return key[1]

    def origin(self, cluster: ClusterView) -> Origin:
        """The source of the rows, with the queue in the table's name."""
        return super().origin(cluster)._replace(table=f"quotas {self.queue}")

    def _sorted_by(self) -> str:
        return super()._sorted_by() or "sort: over quota, most first   "
