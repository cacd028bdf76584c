"""The views that are pages of lines: the plan of the next pass, earlier passes, and one job."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from textual.app import ComposeResult

from policy.model.pbs_units import show_job
from tui.backends.pass_journal import Pass
from tui.pages.job_page import JobDetail, job_lines
from tui.pages.pass_page import pass_lines
from tui.pages.plan_page import plan_lines
from tui.screen.views.base_view import FAR, Shown, View
from tui.screen.views.visited_places import Place
from tui.screen.widgets.line_view import LineView, Paper
from tui.text.screen_line import Line, safe, wrapped


class PageView(View):
    """A page of lines made from the cluster view."""

    def __init__(self) -> None:
        super().__init__()
        self.paper = Paper(classes="body")

    def compose(self) -> ComposeResult:
        """The title and the lines."""
        yield self.title_line
        yield self.paper

    @property
    def body(self) -> LineView:
        """The lines."""
        return self.paper

    def heading(self) -> str:
        """The title."""
        return self.view_name

    def lines(self, shown: Shown, cells: int) -> list[Line]:
        """The lines for a width."""
        raise NotImplementedError

    def repaint(self) -> None:
        """Make the lines again."""
        if self.shown is not None:
            self.title(((self.heading(), "title"),))
            lines = self.lines(self.shown, max(20, self.size.width - 2))
            self.paper.show([((" ", ""), *line) for line in lines])


class PlanView(PageView):
    """What the next pass does or would do; left and right go to earlier passes, and back."""

    view_name = "plan"

    def __init__(self) -> None:
        super().__init__()
        self._time_s: float | None = None

    def move(self, name: str) -> None:
        """Left is the pass before, right the one after; the last page is what would be decided now."""
        if name not in ("left", "right"):
            super().move(name)
            return
        entries = self.shown.cluster.passes.entries if self.shown is not None else ()
        index = self._index(entries) + (-1 if name == "left" else 1)
        self._time_s = entries[max(0, index)].time_s if entries and index < len(entries) else None
        self.body.scroll_lines(-FAR)
        self.repaint()

    def _index(self, entries: Sequence[Pass]) -> int:
        """The index of the pass shown: the first not before the chosen time; the number of passes for now."""
        if self._time_s is None:
            return len(entries)
        return bisect_left([entry.time_s for entry in entries], self._time_s)

    def heading(self) -> str:
        """Which pass is shown, and the keys for the others."""
        entries = self.shown.cluster.passes.entries if self.shown is not None else ()
        back = len(entries) - self._index(entries)
        if back > 0:
            return f"plan · {back:,} of {len(entries):,} passes back, ← before → after"
        return "plan · the next pass" + (", ← the last ones" if entries else "")

    def lines(self, shown: Shown, cells: int) -> list[Line]:
        """The plan, or a pass of the journal."""
        entries = shown.cluster.passes.entries
        index = self._index(entries)
        if index < len(entries):
            return wrapped(pass_lines(entries[index], shown.cluster.now_s), cells)
        return wrapped(plan_lines(shown.cluster), cells)


class JobView(PageView):
    """The page of one job: where it runs, or why it waits."""

    view_name = "job"
    kind = "job"

    def __init__(self) -> None:
        super().__init__()
        self.job_id = ""
        self._detail: JobDetail | None = None

    @property
    def place(self) -> Place:
        """The job."""
        return Place(self.view_name, subject=self.job_id)

    def resume(self, place: Place) -> None:
        """Show another job."""
        if place.subject != self.job_id:
            self.job_id, self._detail = place.subject, None
            self.body.scroll_lines(-FAR)

    def show_detail(self, detail: JobDetail) -> None:
        """Take the result of a lookup; ignored if it is of another job."""
        if detail.job_id == self.job_id:
            self._detail = detail
            self.repaint()

    def heading(self) -> str:
        """The title."""
        return f"job {safe(show_job(self.job_id))}"

    def lines(self, shown: Shown, cells: int) -> list[Line]:
        """The job."""
        return job_lines(shown.cluster, self.job_id, cells, self._detail)

    @property
    def cursor_name(self) -> str | None:
        """The job's id."""
        return self.job_id or None
