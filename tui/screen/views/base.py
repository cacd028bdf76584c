"""What every view is: a title line over a body, shown a world, and moved in by the same few actions."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.containers import Vertical

from tui.audit.trail import Record
from tui.backends.idle_history import IdleHistory
from tui.screen.views.navigation import Place
from tui.screen.widgets.lines import LineView, Paper
from tui.state.cluster_view import World
from tui.text.lines import Line, spread

MOVES = ("up", "down", "left", "right", "first", "last", "page-up", "page-down", "half-up", "half-down")
FAR = 10**9


def lines_of(move: str, page: int) -> int:
    """How many lines a move goes down, up where negative, if a page has so many."""
    half = page // 2 or 1
    lines = {"up": -1, "down": 1, "page-up": -page, "page-down": page, "half-up": -half, "half-down": half}
    return {**lines, "first": -FAR, "last": FAR}.get(move, 0)


@dataclass(frozen=True)
class Shown:
    """What the views are shown: the world, idle cores over the day, and the changes made by this user."""

    world: World
    history: IdleHistory = field(default_factory=IdleHistory)
    trail: tuple[Record, ...] = ()
    trail_problem: str = ""


class View(Vertical):
    """A view. ``cursor_name`` is what its cursor is on, as a name to copy; ``into`` what enter leads to. ``kind`` is
    what its rows are for who acts on them: job, vnode or queue, empty where they are none of these."""

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
        """The widget that moves."""
        raise NotImplementedError

    def show(self, shown: Shown) -> None:
        """Show this world."""
        self.shown = shown
        self.repaint()

    def repaint(self) -> None:
        """Show the world again, for another width or another question."""
        raise NotImplementedError

    def title(self, left: Line, right: str = "") -> None:
        """Set the title line."""
        cells = max(1, self.size.width - 1)
        self.title_line.show([spread(((" ", ""), *left), ((right, "dim"),), cells)])

    def move(self, name: str) -> None:
        """One of :data:`MOVES`: scroll, where there is no cursor."""
        self.body.scroll_lines(lines_of(name, self.body.page))

    @property
    def place(self) -> Place:
        """Where one is here, to come back to."""
        return Place(self.view_name)

    def resume(self, place: Place) -> None:
        """Be at a place of this view, from the next time on that the view is shown."""

    @property
    def cursor_name(self) -> str | None:
        """What the cursor is on; None where there is no cursor, or nothing under it."""
        return None

    @property
    def chosen(self) -> tuple[str, ...]:
        """What an action is done to here: PBS's names of what is marked, else of what the cursor is on."""
        return () if self.cursor_name is None else (self.cursor_name,)

    @property
    def words(self) -> dict[str, list[str]]:
        """What completes a command line here, by kind."""
        return {}

    def on_resize(self) -> None:
        """Lines are made for a width."""
        if self.shown is not None:
            self.repaint()
