"""The views that are pages of lines: the overview, the plan of this pass, and one job."""

from __future__ import annotations

from textual.app import ComposeResult

from tui.core.facts import short_id
from tui.core.job_lines import job_lines
from tui.core.lines import Line, safe
from tui.core.overview import overview_lines
from tui.core.plan_lines import plan_lines
from tui.views.base import Shown, View
from tui.widgets.lines import LineView, Paper


class PageView(View):
    """Lines made from the world."""

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


class OverviewView(PageView):
    """Is it well, and what needs somebody?"""

    view_name = "overview"

    def lines(self, shown: Shown, cells: int) -> list[Line]:
        """The overview."""
        return overview_lines(shown.world, shown.history, cells)


class PlanView(PageView):
    """What this pass would do."""

    view_name = "plan"

    def heading(self) -> str:
        """The title."""
        return "plan · this pass"

    def lines(self, shown: Shown, cells: int) -> list[Line]:
        """The plan."""
        return plan_lines(shown.world)


class JobView(PageView):
    """One job: why does it wait?"""

    view_name = "job"

    def __init__(self) -> None:
        super().__init__()
        self.job_id = ""

    def choose(self, job_id: str) -> None:
        """Show another job."""
        self.job_id = job_id
        self.repaint()

    def heading(self) -> str:
        """The title."""
        return f"job {safe(short_id(self.job_id))}"

    def lines(self, shown: Shown, cells: int) -> list[Line]:
        """The job."""
        return job_lines(shown.world, self.job_id, cells)

    @property
    def cursor_name(self) -> str | None:
        """The job's id."""
        return self.job_id or None
