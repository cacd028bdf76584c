"""The pages of one job: why it waits or where it runs, its output, script, resources, history and log lines."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.message import Message

from policy.model.pbs_units import show_job
from tui.model.typed_attributes import moment
from tui.pages.job.job_page import JobDetail, JobFiles
from tui.pages.job.job_tabs import OF_FILES, OUTPUT, WHY, show_tabs, tab_lines, tabs_of
from tui.screen.views.bases.base_view import FAR, Shown, View
from tui.screen.views.bases.visited_places import Place
from tui.screen.widgets.base_line_view import LineView, Paper
from tui.text.screen_line import Line, safe, wrapped


class JobView(View):
    """The pages of one job: where it runs, or why it waits; its output, resources and history. Left and right go from
    one to the next."""

    view_name = "job"
    kind = "job"

    def __init__(self) -> None:
        super().__init__()
        self.paper = Paper(classes="body")
        self.job_id = ""
        self.tab = WHY
        self._detail: JobDetail | None = None
        self._files: JobFiles | None = None

    class FilesWanted(Message):
        """A page is shown that needs the job's script or log."""

    def compose(self) -> ComposeResult:
        """The title and the lines."""
        yield self.title_line
        yield self.paper

    @property
    def body(self) -> LineView:
        """The lines."""
        return self.paper

    @property
    def place(self) -> Place:
        """The job."""
        return Place(self.view_name, subject=self.job_id)

    def resume(self, place: Place) -> None:
        """Show another job."""
        if place.subject != self.job_id:
            self.job_id, self._detail, self._files, self.tab = place.subject, None, None, WHY
            self.body.scroll_lines(-FAR)

    def move(self, name: str) -> None:
        """Left and right go to another page of the job."""
        if name in ("left", "right"):
            tabs = tabs_of(self.job_id)
            self.show_tab(tabs[(tabs.index(self.tab) + (1 if name == "right" else -1)) % len(tabs)])
        else:
            super().move(name)

    def show_tab(self, tab: str) -> None:
        """Show another page, an output at its end."""
        self.tab = tab
        if tab in OF_FILES and self._files is None:
            self.post_message(self.FilesWanted())
        self.repaint()
        self.body.scroll_lines(FAR if tab == OUTPUT else -FAR)

    @property
    def output_path(self) -> str:
        """The file with the job's output, if it was found on this host; else empty."""
        tail = self._detail.tail if self._detail is not None else None
        return tail.path if tail is not None and not tail.problem else ""

    def repaint(self) -> None:
        """Make the lines again; an output that is shown at its end stays there."""
        follows = self.tab == OUTPUT and self.body.is_at_end
        if self.shown is not None:
            lines = self.lines(self.shown, max(20, self.size.width - 2))
            self.paper.show([((" ", ""), *line) for line in lines])
            self.title(((f"{self.heading()}  ", "title"), *show_tabs(self.job_id, self.tab)))
        if follows:
            self.body.scroll_lines(FAR)

    def show_detail(self, detail: JobDetail) -> None:
        """Take the result of a lookup; ignored if it is of another job."""
        if detail.job_id == self.job_id:
            self._detail = detail
            self.repaint()

    @property
    def age_s(self) -> float:
        """How long ago the job was submitted, in seconds; 0 if that is not known."""
        attributes = (self._detail.attributes if self._detail is not None else None) or {}
        if self.shown is None:
            return 0.0
        cluster = self.shown.cluster
        since_s = moment({**attributes, **(cluster.job(self.job_id) or {})}, "ctime", "qtime")
        return 0.0 if since_s is None else max(0.0, cluster.now_s - since_s)

    def show_files(self, files: JobFiles) -> None:
        """Take the script and the log; ignored if they are of another job."""
        if files.job_id == self.job_id:
            self._files = files
            self.repaint()

    def heading(self) -> str:
        """The title."""
        return f"job {safe(show_job(self.job_id))}"

    def lines(self, shown: Shown, cells: int) -> list[Line]:
        """The page that is chosen."""
        files = self._files if self.tab in OF_FILES else None
        return wrapped(tab_lines(self.tab, shown.cluster, self.job_id, cells, self._detail, files), cells)

    @property
    def cursor_name(self) -> str | None:
        """The job's id."""
        return self.job_id or None
