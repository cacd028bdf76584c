"""The jobs view: every job and array, where it runs or why it waits; arrays unfold, jobs that ended can be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tui.model.typed_attributes import array_of
from tui.screen.views.detail_table import TellingTable
from tui.state.cluster_view import World
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column
from tui.tables.filters import Value
from tui.tables.job_columns import job_columns, job_fields_also
from tui.tables.job_outcome import told_of
from tui.text.lines import Line


class JobsView(TellingTable[str]):
    """Jobs and arrays by id."""

    view_name = "jobs"
    nothing = "no jobs: nothing runs and nothing waits"
    kind = "job"

    def __init__(self) -> None:
        super().__init__()
        self.unfolded: set[str] = set()

    def keys(self, world: World) -> Sequence[str]:
        """Ids: what runs, what waits, what is held, what has ended; the running subjobs below an array that is open."""
        ids = world.job_ids
        if self.unfolded:
            self.unfolded &= set(ids)
        if not self.unfolded:
            return ids
        opened = self.unfolded
        return [
            each
            for job_id in ids
            for each in ([job_id, *world.subjob_ids.get(job_id, ())] if job_id in opened else [job_id])
        ]

    def unfold(self, job_id: str) -> int:
        """Show the running subjobs of an array, or no longer; gives how many run. A subjob stands for its array."""
        array = array_of(job_id)
        self.unfolded ^= {array}
        if array in self.table.keys:
            self.table.move_to(list(self.table.keys).index(array))
        self.repaint()
        return len(self.shown.world.subjob_ids.get(array, ())) if self.shown is not None else 0

    def heading(self, world: World) -> str:
        """The name, and what is to be known of jobs that have ended."""
        if world.finished is None:
            return self.view_name
        problem = world.finished.problem
        return f"jobs, ended: {problem}" if problem else f"jobs, {len(world.finished.jobs):,} of them ended"

    def columns(self, world: World) -> list[Column[str]]:
        """The jobs' columns."""
        return job_columns(world)

    def tell(self, world: World, key: str) -> Line:
        """Where it runs and until when, or the whole of why it waits."""
        return told_of(world, key)

    def attributes(self, world: World) -> AttributesOf[str]:
        """PBS's attributes of a job."""
        return world.job

    def more_fields(self, world: World) -> Mapping[str, Callable[[str], Value]]:
        """PBS's own names beside the columns'."""
        return job_fields_also(world)
