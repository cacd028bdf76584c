"""The queues view: every execution queue with its running and waiting jobs, mode, head and reservation."""

from __future__ import annotations

from collections.abc import Sequence

from tui.screen.views.bases.base_table_view import TableView
from tui.state.cluster_view import ClusterView, execution_queues
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column
from tui.tables.columns_by_view.queue_columns import queue_columns


class QueuesView(TableView[str]):
    """Queues by name."""

    view_name = "queues"
    nothing = "the server has no execution queues"
    kind = "queue"

    def keys(self, cluster: ClusterView) -> Sequence[str]:
        """The execution queues, those with the most jobs first."""
        return execution_queues(cluster)

    def columns(self, cluster: ClusterView) -> list[Column[str]]:
        """The queues' columns."""
        return queue_columns(cluster)

    def attributes(self, cluster: ClusterView) -> AttributesOf[str]:
        """PBS's attributes of a queue."""
        return cluster.server_status.queues.get
