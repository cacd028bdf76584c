"""The jobs view: every job and array, with where it runs or why it waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tui.core.columns import Column
from tui.core.filters import Value
from tui.core.job_rows import job_columns, job_fields_also
from tui.core.world import World
from tui.views.tables import TableView


class JobsView(TableView[str]):
    """Jobs and arrays by id."""

    view_name = "jobs"

    def keys(self, world: World) -> Sequence[str]:
        """Ids in the server's order."""
        return world.job_ids

    def columns(self, world: World) -> list[Column[str]]:
        """The jobs' columns."""
        return job_columns(world)

    def more_fields(self, world: World) -> Mapping[str, Callable[[str], Value]]:
        """PBS's own names beside the columns'."""
        return job_fields_also(world)
