"""The plan view: what the next pass does or would do as a table whose parts fold, and the passes before it as pages."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from textual.app import ComposeResult

from tui.backends.pass_journal import Pass
from tui.pages.plan.console_plan_in_short_and_mode_notes import plan_notes
from tui.pages.plan.pass_page import pass_lines
from tui.screen.views.bases.base_table_view import TableView
from tui.screen.views.bases.base_view import FAR, lines_of
from tui.screen.widgets.base_line_view import LineView, Paper
from tui.screen.widgets.clickable_passes import PassRow
from tui.state.cluster_view import ClusterView
from tui.tables.attribute_columns import AttributesOf
from tui.tables.columns import Column, Sort
from tui.tables.columns_by_view.job_columns import job_columns
from tui.tables.columns_by_view.plan_foldable_parts_and_columns import Parts, PlanKey, parts_of, plan_columns, plan_keys
from tui.tables.filter_line import Value
from tui.text.screen_line import wrapped

_MOST_NOTES = 6
_NOTES_SHARE = 4
"""The notes above the table take at most one part in so many of the view."""
_ROOMY = 12
"""Lines that the view needs for the row of passes."""


class PlanView(TableView[PlanKey]):
    """What the next pass does or would do; left and right go to earlier passes, and back."""

    view_name = "plan"
    nothing = "the first plan is being made"
    kind = "job"
    DEFAULT_CSS = """
    PlanView > .notes, PlanView > .passes { height: 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.passes, self.notes, self.page = PassRow(classes="passes"), Paper(classes="notes"), Paper(classes="body")
        self.page.display = False
        self._time_s: float | None = None
        self._turned: set[PlanKey] = set()
        self._parts: Parts = {}
        self._rows: list[PlanKey] = []

    def compose(self) -> ComposeResult:
        """The title, the row of passes, the notes with the table, and the page of an earlier pass."""
        yield self.title_line
        yield self.passes
        yield self.notes
        yield self.table
        yield self.page

    @property
    def body(self) -> LineView:
        """The table; of an earlier pass, its lines."""
        return self.page if self._is_past else self.table

    # The passes before.

    @property
    def _entries(self) -> Sequence[Pass]:
        return self.shown.cluster.passes.entries if self.shown is not None else ()

    @property
    def _index(self) -> int:
        """The index of the pass shown: the first not before the chosen time; the number of passes for the next one."""
        if self._time_s is None:
            return len(self._entries)
        return bisect_left([entry.time_s for entry in self._entries], self._time_s)

    @property
    def _is_past(self) -> bool:
        return self._index < len(self._entries)

    def move(self, name: str) -> None:
        """Left is the pass before, right the one after; the last page is what would be decided now."""
        if name in ("left", "right"):
            self._go_to(self._index + (-1 if name == "left" else 1))
        elif self._is_past:
            self.page.scroll_lines(lines_of(name, self.page.page))
        else:
            super().move(name)

    def _go_to(self, index: int) -> None:
        """Show the pass of this index, or the next pass."""
        entries = self._entries
        self._time_s = entries[max(0, index)].time_s if entries and index < len(entries) else None
        self.page.scroll_lines(-FAR)
        self.repaint()

    def on_pass_row_chosen(self, message: PassRow.Chosen) -> None:
        """A pass was clicked."""
        message.stop()
        self._go_to(message.index)

    def repaint(self) -> None:
        """Show the table, or the page of an earlier pass."""
        past = self._is_past
        self.page.display, self.table.display, self.notes.display = past, not past, not past
        self.passes.display = bool(self._entries) and self.size.height >= _ROOMY
        if self.shown is None:
            return
        if self.passes.display:
            self.passes.show_passes(self._entries, self._index, self.size.width)
        if past:
            self.title(((self.heading(self.shown.cluster), "title"),))
            lines = wrapped(pass_lines(self._entries[self._index], self.shown.cluster.now_s), max(20, self._cells))
            self.page.show([((" ", ""), *line) for line in lines])
            return
        notes = wrapped(plan_notes(self.shown.cluster), max(20, self._cells))
        most = min(_MOST_NOTES, self.size.height // _NOTES_SHARE)
        self.notes.display = most > 0
        self.notes.styles.height = max(1, min(len(notes), most))
        self.notes.show([((" ", ""), *line) for line in notes[:most]])
        super().repaint()

    @property
    def _cells(self) -> int:
        return self.size.width - 2

    def heading(self, cluster: ClusterView) -> str:
        """Which pass is shown, and the keys for the others."""
        entries = self._entries
        back = len(entries) - self._index
        if back > 0:
            return f"plan · {back:,} of {len(entries):,} passes back, ← before → after"
        return "plan · the next pass" + (", ← the last ones" if entries else "")

    def retitle(self) -> None:
        """Update the title; the page of an earlier pass has no rows to count."""
        if not self._is_past:
            super().retitle()

    # The table of the next one.

    def keys(self, cluster: ClusterView) -> Sequence[PlanKey]:
        """The parts, and the jobs of those that are unfolded; a filter looks into all of them, and shows jobs alone."""
        self._parts = parts_of(cluster)
        self._turned &= set(self._parts)
        self._rows = plan_keys(self._parts, self._turned)
        if self.filter_text:
            return [part._replace(job_id=job_id) for part, ids in self._parts.items() for job_id in ids]
        return self._rows

    def columns(self, cluster: ClusterView) -> list[Column[PlanKey]]:
        """The plan's columns."""
        return plan_columns(cluster, self._parts, self._rows)

    def more_fields(self, cluster: ClusterView) -> Mapping[str, Callable[[PlanKey], Value]]:
        """The fields of the jobs view that are no columns here."""
        of_jobs = {column.name: column.filter_value or column.value for column in job_columns(cluster)}

        def of(value_of: Callable[[str], Value]) -> Callable[[PlanKey], Value]:
            return lambda key: value_of(key.job_id) if key.job_id else None

        return {name: of(value_of) for name, value_of in of_jobs.items()}

    def attributes(self, cluster: ClusterView) -> AttributesOf[PlanKey]:
        """PBS's attributes of a job."""
        return lambda key: cluster.with_use(key.job_id) if key.job_id else None

    def unfold(self) -> None:
        """Unfold or fold the part under the cursor, or that of the job under it."""
        key = self.table.cursor
        if self._is_past or key is None or self.filter_text:
            return
        self._turned ^= {key.part}
        self.table.look_for(key.part)
        self.repaint()

    @property
    def job_id(self) -> str:
        """The job under the cursor; empty on a part."""
        key = None if self._is_past else self.table.cursor
        return "" if key is None else key.job_id

    def name_of(self, key: PlanKey) -> str:
        """A job's id; what a part is called."""
        return key.job_id or f"{key.verb} {key.code}".strip()

    @property
    def cursor_name(self) -> str | None:
        """The job or part under the cursor; None in an earlier pass."""
        return None if self._is_past else super().cursor_name

    def targets_of(self, key: PlanKey) -> Collection[Hashable]:
        """The job, by its id in whatever part it is; all jobs of a part."""
        return (key.job_id,) if key.job_id else self._parts.get(key, ())

    def name_of_target(self, target: Hashable) -> str:
        """The job's id."""
        return str(target)

    def _show(self, keys: Sequence[PlanKey], columns: list[Column[PlanKey]], sort: Sort) -> None:
        """The cursor follows its job into another part."""
        sought = self.table.sought
        if sought is not None and sought.job_id and sought not in keys:
            self.table.look_for(next((key for key in keys if key.job_id == sought.job_id), None))
        super()._show(keys, columns, sort)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The marked jobs, else the one under the cursor, else all jobs of the part under it."""
        return () if self._is_past else super().chosen

    @property
    def gone(self) -> str:
        """As in each table; an earlier pass has no cursor."""
        return "" if self._is_past else super().gone
