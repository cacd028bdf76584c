"""The reservations view: PBS's own reservations, made by ``pbs_rsub``; the soonest first."""

from __future__ import annotations

from collections.abc import Sequence

from tui.model.typed_attributes import moment
from tui.screen.views.bases.base_table_view import TableView
from tui.state.cluster_view import ClusterView
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column
from tui.tables.columns_by_view.reservation_columns import reservation_columns


class ReservationsView(TableView[str]):
    """Reservations by name."""

    view_name = "reservations"
    nothing = "the server has no reservation: pbs_rsub makes one"

    def keys(self, cluster: ClusterView) -> Sequence[str]:
        """The reservations by their start."""
        found = cluster.server_status.reservations
        return sorted(found, key=lambda name: (moment(found[name], "reserve_start") or 0.0, name))

    def columns(self, cluster: ClusterView) -> list[Column[str]]:
        """The reservations' columns."""
        return reservation_columns(cluster)

    def attributes(self, cluster: ClusterView) -> AttributesOf[str]:
        """PBS's attributes of a reservation."""
        return cluster.server_status.reservations.get

    @property
    def queue(self) -> str:
        """The queue of the reservation under the cursor; empty if there is none."""
        name = self.cursor_name
        if name is None or self.shown is None:
            return ""
        return self.shown.cluster.server_status.reservations.get(name, {}).get("queue", "")
