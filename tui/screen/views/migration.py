"""The migration view: the jobs that this cluster has sent, will send or has as guests, and the other clusters below.

A site without other clusters never gets it.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from migration.cli.migrating_job_in_words import why_there
from tui.model.migrating_jobs import Migration
from tui.pages.cluster.other_clusters import cluster_lines
from tui.screen.views.bases.table_with_details import TableWithDetails
from tui.screen.widgets.base_line_view import Paper
from tui.state.cluster_view import ClusterView
from tui.tables.columns import Column
from tui.tables.columns_by_view.migration_columns import migration_columns
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import short_span

_SHARE = 4
"""The other clusters take at most this part of the lines."""
_LATE_S = 300


class MigrationView(TableWithDetails[str]):
    """Migrating jobs by id."""

    view_name = "migration"
    nothing = "no job of this cluster migrates: mgsub submits one"
    DEFAULT_CSS = """
    MigrationView > .clusters { height: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.clusters = Paper(classes="clusters")

    def compose(self) -> ComposeResult:
        """The table, the details, and the clusters."""
        yield from super().compose()
        yield self.clusters

    @property
    def _migration(self) -> Migration:
        found = self.shown.migration if self.shown is not None else None
        return found or Migration()

    def repaint(self) -> None:
        """Show the jobs, and as many clusters as there is room for."""
        self.nothing = self._migration.problem or MigrationView.nothing
        lines = cluster_lines(self._migration, max(1, self.size.height // _SHARE))
        self.clusters.display = bool(lines)
        self.clusters.styles.height = max(1, len(lines))
        self.clusters.show(lines)
        super().repaint()

    def on_resize(self) -> None:
        """The number of clusters' lines depends on the height."""
        super().on_resize()
        if self.shown is not None:
            self.repaint()

    def keys(self, cluster: ClusterView) -> Sequence[str]:
        """The jobs, those that are not over first."""
        return self._migration.jobs

    def columns(self, cluster: ClusterView) -> list[Column[str]]:
        """The columns of migrating jobs."""
        return migration_columns(self._migration)

    def describe(self, cluster: ClusterView, key: str) -> Line:
        """The whole reason, where the job's folder is, and its program."""
        migration = self._migration
        record = migration.records.get(key)
        if record is None:
            return ()
        there = f", at {record.dst} {record.dstdir}" if record.dstdir and not record.in_place else ""
        local = f" · job {record.localid} at {record.dst}" if record.localid else ""
        ended = f" · exit status {record.exit}" if record.exit else ""
        why = why_there(record, migration.notes, migration.now_s)
        program = " ".join((record.prog, *record.args))
        parts = f"{record.dir}{there} · {program}{local}{ended}"
        return ((safe(f"{why} · {parts}" if why else parts), ""),)

    def heading(self, cluster: ClusterView) -> str:
        """The name and this cluster's; when the last pass was, where that is long ago."""
        migration = self._migration
        if migration.problem:
            return "migration"
        heading = f"migration of {migration.this}"
        if migration.in_part:
            heading += " · arguments only root and the service may read"
        if not migration.notes.ended:
            return f"{heading} · no pass of mgsched yet"
        late_s = migration.now_s - migration.notes.ended
        return f"{heading} · last pass {short_span(late_s)} ago" if late_s > _LATE_S else heading
