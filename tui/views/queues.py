"""The queues view: every execution queue, what runs and waits in it, its mode, its head and its reservation."""

from __future__ import annotations

from collections.abc import Sequence

from tui.core.attributes import AttributesOf
from tui.core.columns import Column
from tui.core.queue_rows import queue_columns
from tui.core.world import World, execution_queues
from tui.views.tables import TableView


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
