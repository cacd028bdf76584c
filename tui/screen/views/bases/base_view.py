"""Base of all views: a title line over a body that shows a cluster view and is moved in by the same actions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.containers import Vertical

from hooks.record.day_of_activity import Day
from tui.audit.read_and_merge_audit_records import AuditRecord
from tui.backends.idle_core_history import IdleHistory
from tui.screen.views.bases.visited_places import Place
from tui.screen.widgets.base_line_view import LineView, Paper
from tui.state.cluster_view import ClusterView
from tui.state.temperatures_seen import Temperatures
from tui.text.screen_line import Line, spread
from tui.text.times_and_durations import clock_time

if TYPE_CHECKING:
    from tui.model.migrating_jobs import Migration

MOVES = ("up", "down", "left", "right", "first", "last", "page-up", "page-down", "half-up", "half-down")
FAR = 10**9


def lines_of(move: str, page: int) -> int:
    """How many lines a move goes down, negative for up, with ``page`` lines to a page."""
    half = page // 2 or 1
    lines = {"up": -1, "down": 1, "page-up": -page, "page-down": page, "half-up": -half, "half-down": half}
    return {**lines, "first": -FAR, "last": FAR}.get(move, 0)


@dataclass(frozen=True)
class Shown:
    """What views show: the cluster view, idle cores over the day, and the audit records. ``is_stale``: the server does
    not answer any more. ``migration`` is None where the site has no other clusters; ``day`` is the last day's
    activity, ``temperatures`` what hosts have reported since the console was opened."""

    cluster: ClusterView
    history: IdleHistory = field(default_factory=IdleHistory)
    trail: tuple[AuditRecord, ...] = ()
    trail_problem: str = ""
    is_stale: bool = False
    migration: Migration | None = None
    day: Day = field(default_factory=Day)
    temperatures: Temperatures = field(default_factory=Temperatures)


class View(Vertical):
    """A view. ``view_name`` is its name; ``kind`` the kind of its rows for operations: job, vnode or queue, empty for
    others.
    """

    DEFAULT_CSS = """
    View { width: 1fr; height: 1fr; }
    View > .title { height: 1; }
    View > .body { height: 1fr; }
    View.stale > .body { opacity: 60%; text-style: dim; }
    """
    view_name = ""
    kind = ""

    def __init__(self) -> None:
        super().__init__(id=f"view-{self.view_name}")
        self.title_line = Paper(classes="title")
        self.shown: Shown | None = None

    @property
    def body(self) -> LineView:
        """The widget that scrolls."""
        raise NotImplementedError

    def show(self, shown: Shown) -> None:
        """Show this state."""
        self.shown = shown
        self.repaint()

    def forget_shown(self) -> None:
        """Hold nothing of the state that was shown, as the view is hidden and there is a newer one: of a large cluster
        each is some fifty megabytes. Where the view stands, its cursor and its marks stay."""
        self.shown = None

    def repaint(self) -> None:
        """Show the state again, for another width or other choices."""
        raise NotImplementedError

    def title(self, left: Line, right: str = "") -> None:
        """Set the title line; ``right`` stands at its right end. A view of a server that does not answer says since
        when it is old."""
        cells = max(1, self.size.width - 1)
        if self.shown is not None and self.shown.is_stale:
            as_of = clock_time(self.shown.cluster.now_s, seconds=True)
            left = (*left, (f" · as of {as_of}: the server does not answer", "bad"))
        self.title_line.show([spread(((" ", ""), *left), ((right, "dim"),), cells)])

    def move(self, name: str) -> None:
        """Scroll by one of :data:`MOVES`; views with a cursor move the cursor."""
        self.body.scroll_lines(lines_of(name, self.body.page))

    @property
    def place(self) -> Place:
        """The present place in this view, to come back to."""
        return Place(self.view_name)

    def resume(self, place: Place) -> None:
        """Take the state of a place of this view; it is shown the next time that the view is shown."""

    @property
    def cursor_name(self) -> str | None:
        """The name of the row under the cursor; None without a cursor or a row."""
        return None

    @property
    def chosen(self) -> tuple[str, ...]:
        """PBS's names of the targets of an operation: the marked rows, else the row under the cursor."""
        return () if self.cursor_name is None else (self.cursor_name,)

    @property
    def gone(self) -> str:
        """What a refresh has taken away from under the cursor, or what was marked; empty once the cursor was moved."""
        return ""

    @property
    def words(self) -> dict[str, list[str]]:
        """Completions for a command line in this view, by kind."""
        return {}

    def on_resize(self) -> None:
        """The lines depend on the width."""
        if self.shown is not None:
            self.repaint()
