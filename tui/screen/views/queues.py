"""The queues view: every execution queue, what runs and waits in it, its mode, its head and its reservation."""

from __future__ import annotations

from collections.abc import Sequence

from tui.screen.views.tables import TableView
from tui.state.cluster_view import World, execution_queues
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column
from tui.tables.queue_columns import queue_columns


class QueuesView(TableView[str]):
    """Queues by name."""

    view_name = "queues"
    nothing = "the server has no execution queues"
    kind = "queue"

    def keys(self, world: World) -> Sequence[str]:
        """The execution queues, those with most jobs first."""
        return execution_queues(world)

    def columns(self, world: World) -> list[Column[str]]:
        """The queues' columns."""
        return queue_columns(world)

    def attributes(self, world: World) -> AttributesOf[str]:
        """PBS's attributes of a queue."""
        return world.picture.queues.get
