"""The quotas view: who uses what beside their quota in one queue; left and right go to the other queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from policy.model.limits import EntityKey
from tui.screen.views.navigation import Place
from tui.screen.views.tables import TableView
from tui.state.cluster_view import World
from tui.state.quota_scope import quota_scopes, scope_of
from tui.tables.columns import Column
from tui.tables.export import Source
from tui.tables.quota_columns import QuotaRow, name_cells, quota_columns, quota_rows


class QuotasView(TableView[EntityKey]):
    """Users, groups and the generic entry of one queue."""

    view_name = "quotas"
    nothing = "nobody has a job in this queue, and nobody has a quota"

    def __init__(self) -> None:
        super().__init__()
        self.queue = ""
        self._rows: dict[EntityKey, QuotaRow] = {}
        self._name_cells = 0

    def keys(self, world: World) -> Sequence[EntityKey]:
        """The entities, most over quota first."""
        queues = quota_scopes(world)
        if self.queue not in queues:
            self.queue = queues[0] if queues else ""
        self._rows = quota_rows(world, self.queue)
        return list(self._rows)

    def columns(self, world: World) -> list[Column[EntityKey]]:
        """The columns, bars as long as there is room; beside names that go and come they stay as they are."""
        self._name_cells = max(self._name_cells, name_cells(self._rows))
        return quota_columns(self._rows, self.size.width, self._name_cells)

    def heading(self, world: World) -> str:
        """The queue and the resource."""
        scope = scope_of(world, self.queue)
        return f"quotas · {scope.place} · {scope.resource}"

    def move(self, name: str) -> None:
        """Left and right choose the queue."""
        if name not in ("left", "right"):
            super().move(name)
        elif self.shown is not None:
            queues = quota_scopes(self.shown.world)
            if self.queue in queues:
                self.choose(queues[(queues.index(self.queue) + (1 if name == "right" else -1)) % len(queues)])

    @property
    def place(self) -> Place:
        """The queue as well."""
        return replace(super().place, subject=self.queue)

    def resume(self, place: Place) -> None:
        """Take the queue as well."""
        super().resume(place)
        self.queue = place.subject or self.queue
        self._name_cells = 0

    def choose(self, queue: str) -> None:
        """Show another queue."""
        self.queue = queue
        self._name_cells = 0
        self.table.forget_widths()
        self.repaint()

    def name_of(self, key: EntityKey) -> str:
        """The user's or group's name."""
        return key[1]

    def source(self, world: World) -> Source:
        """The table is of one queue."""
        return super().source(world)._replace(table=f"quotas {self.queue}")

    def _sorted_by(self) -> str:
        return super()._sorted_by() or "sort: over quota, most first   "
