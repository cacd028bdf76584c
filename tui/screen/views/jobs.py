"""The jobs view: every job and array, where it runs or why it waits. Arrays unfold; ended jobs can be included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hooks.pbs.job_attributes.job_ids_and_states import is_subjob, parent_of
from tui.screen.views.bases.table_with_details import TableWithDetails
from tui.state.cluster_view import ClusterView
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column
from tui.tables.columns_by_view.job_columns import job_columns, job_fields_also
from tui.tables.columns_by_view.planned_job_outcome import describe_job, describe_use_and_start
from tui.tables.filter_line import Value
from tui.text.screen_line import Line


class JobsView(TableWithDetails[str]):
    """Jobs and arrays by id."""

    view_name = "jobs"
    nothing = "no jobs: nothing runs and nothing waits"
    kind = "job"

    def __init__(self) -> None:
        super().__init__()
        self.unfolded: set[str] = set()

    def keys(self, cluster: ClusterView) -> Sequence[str]:
        """Ids: running, waiting, held, ended; below an unfolded array its running subjobs."""
        ids = cluster.job_ids
        if self.unfolded:
            self.unfolded &= set(ids)
        if not self.unfolded:
            return ids
        opened = self.unfolded
        return [
            each
            for job_id in ids
            for each in ([job_id, *cluster.subjob_ids.get(job_id, ())] if job_id in opened else [job_id])
        ]

    def unfold(self, job_id: str) -> int:
        """Show or hide the running subjobs of an array; returns how many run. A subjob's id means its array."""
        array = parent_of(job_id)
        self.unfolded ^= {array}
        if array in self.table.keys:
            self.table.move_to(list(self.table.keys).index(array))
        self.repaint()
        return len(self.shown.cluster.subjob_ids.get(array, ())) if self.shown is not None else 0

    def unfold_arrays_of(self, job_ids: Iterable[str]) -> None:
        """Show the running subjobs of the arrays that these subjobs are of, the next time that the view is shown."""
        self.unfolded |= {parent_of(job_id) for job_id in job_ids if is_subjob(job_id)}

    def heading(self, cluster: ClusterView) -> str:
        """The name, with the number of ended jobs, or why they are not known."""
        if cluster.finished is None:
            return self.view_name
        problem = cluster.finished.problem
        return f"jobs, ended: {problem}" if problem else f"jobs, {len(cluster.finished.jobs):,} of them ended"

    def rows_in_words(self, cluster: ClusterView, shown: int) -> str:
        """How many jobs there are in how many lines, since all subjobs of an array are in one."""
        ended = len(cluster.finished.jobs) if cluster.finished is not None else 0
        jobs = sum(cluster.counts.states.values()) + ended
        return f"{shown:,}" if self.filter_text or jobs == shown else f"{jobs:,} in {shown:,} lines"

    def columns(self, cluster: ClusterView) -> list[Column[str]]:
        """The jobs' columns."""
        return job_columns(cluster)

    def describe(self, cluster: ClusterView, key: str) -> Line:
        """Where the job runs and until when, or the full reason why it waits."""
        return describe_job(cluster, key)

    def describe_more(self, cluster: ClusterView, key: str) -> list[Line]:
        """What the job asks for and uses, and when it is likely to start."""
        return describe_use_and_start(cluster, key)

    def attributes(self, cluster: ClusterView) -> AttributesOf[str]:
        """PBS's attributes of a job."""
        return cluster.with_use

    def more_fields(self, cluster: ClusterView) -> Mapping[str, Callable[[str], Value]]:
        """Fields of the filter beyond the columns, by PBS's own names."""
        return job_fields_also(cluster)
