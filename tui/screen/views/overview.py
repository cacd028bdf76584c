"""The overview as a view: the cursor moves between the parts that can be entered, and stays on one."""

from __future__ import annotations

from textual.app import ComposeResult

from tui.pages.cluster.overview_page import Row, overview_rows
from tui.pages.link_target_type import Link
from tui.screen.views.bases.base_view import FAR, View, lines_of
from tui.screen.views.bases.visited_places import Place
from tui.screen.widgets.base_line_view import LineView, Paper
from tui.text.screen_line import Line, fit_line
from tui.text.text_bars import is_picture

_MARK_CELLS = 1
_AT = tuple[int, int]


class OverviewView(View):
    """The overview: the state of the cluster, and what needs an administrator."""

    view_name = "overview"
    DEFAULT_CSS = """
    OverviewView > .title { display: none; }
    OverviewView.stale > .title { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.paper = Paper(classes="body")
        self._rows: list[Row] = []
        self._places: list[_AT] = []
        self._at: _AT = (0, 0)
        self._which = 0
        self._link: Link | None = None
        self._is_gone = False
        """Whether a refresh has taken away what the cursor was on, and the cursor was not moved since."""
        self._other_lines = True

    def compose(self) -> ComposeResult:
        """The title, which only an old picture has, and the lines."""
        yield self.title_line
        yield self.paper

    @property
    def body(self) -> LineView:
        """The lines."""
        return self.paper

    @property
    def link(self) -> Link | None:
        """Where the part under the cursor leads to."""
        return None if self._is_gone else self._link

    @property
    def cursor_name(self) -> str | None:
        """The name of what the part under the cursor is about."""
        return None if self.link is None else next(iter(self.link.names), self.link.view)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The targets of an operation on the part under the cursor."""
        return self.link.names if self.link is not None else ()

    @property
    def gone(self) -> str:
        """As in tables; the part may be there with other names, as of jobs that are idle."""
        return "what was under the cursor" if self._is_gone else ""

    def resume(self, place: Place) -> None:
        """What the cursor was on may be gone since the page was left."""
        self._other_lines = True

    def repaint(self) -> None:
        """Make the page again; the cursor stays on what it was on. If a refresh takes that away it is on nothing until
        it is moved, and after the user has changed the page it is near by."""
        if self.shown is None:
            return
        shown = self.shown
        self.title((("overview", "title"),))
        cells = max(20, self.size.width - 2 - _MARK_CELLS)
        self._rows = overview_rows(shown.cluster, shown.day, shown.history, cells, self.size.height, shown.trail)
        self._places = [
            (number, part)
            for number, row in enumerate(self._rows)
            for part, each in enumerate(row.parts)
            if each.link is not None
        ]
        here = [at for at in self._places if self._link_at(at) == self._link]
        if self._link is None:
            here = self._first()
        elif here:
            # Several lines may lead to the same place.
            here = [here[min(self._which, len(here) - 1)]]
        elif self._other_lines:
            here = self._near(self._at)
        self._other_lines = False
        self._is_gone = self._link is not None and not here and bool(self._places)
        if self._is_gone:
            self.kind = ""
            self._paint()
        else:
            self._put(here[0] if here else (0, 0))

    def _first(self) -> list[_AT]:
        """The first thing that needs attention if it is in sight, else the first part that can be entered."""
        in_sight = [at for at in self._places if at[0] < self.size.height]
        marks = [at for at in in_sight if self._rows[at[0]].parts[at[1]].line[0][1] in ("bad", "warn")]
        return marks or self._places

    def _near(self, wanted: _AT) -> list[_AT]:
        return sorted(self._places, key=lambda at: (abs(at[0] - wanted[0]), abs(at[1] - wanted[1])))

    def _link_at(self, at: _AT) -> Link | None:
        return self._rows[at[0]].parts[at[1]].link

    def _put(self, at: _AT) -> None:
        self._at, self._is_gone = at, False
        self._link = self._link_at(at) if self._places else None
        same = [each for each in self._places if self._link_at(each) == self._link]
        self._which = same.index(at) if at in same else 0
        self.kind = self._link.kind if self._link is not None else ""
        self._paint()

    def _paint(self) -> None:
        self.paper.show([self._line(number, row) for number, row in enumerate(self._rows)])

    def _line(self, number: int, row: Row) -> Line:
        spans: list[tuple[str, str]] = [(" ", "")]
        for index, (part, cells) in enumerate(zip(row.parts, row.cells)):
            here = (number, index) == self._at and part.link is not None and not self._is_gone
            spans.append(("▸" if here else " ", "mark"))
            line = fit_line(part.line, cells)
            if here:
                line = tuple(
                    (text, f"{role} {'behind' if is_picture(text) else 'here'}".strip()) for text, role in line
                )
            spans += line
            spans.append(("  " if index + 1 < len(row.parts) else "", ""))
        return tuple(spans)

    def on_resize(self) -> None:
        """The page depends on the size; the cursor stays in sight."""
        self._other_lines = True
        super().on_resize()
        self.paper.show_index(self._at[0])

    def move(self, name: str) -> None:
        """Move the cursor to the next part above, below or beside; at either end scroll to it."""
        if not self._places:
            super().move(name)
            return
        if self._is_gone:
            self._put(self._near(self._at)[0])
            self._show_cursor(name)
            return
        row, part = self._at
        if name in ("left", "right"):
            beside = [at for at in self._places if at[1] == (0 if name == "left" else 1)]
            if len({at[1] for at in self._places}) > 1 and part != (0 if name == "left" else 1):
                self._put(min(beside, key=lambda at: abs(at[0] - row)))
        else:
            self._put(self._below(lines_of(name, self.body.page)))
        self._show_cursor(name)

    def _below(self, lines: int) -> _AT:
        """The part so many lines below in the same column, or the last one; above where negative."""
        row, part = self._at
        column = [at for at in self._places if at[1] == part or len(self._rows[at[0]].parts) == 1]
        if abs(lines) == 1:
            index = column.index(self._at) if self._at in column else 0
            return column[max(0, min(index + lines, len(column) - 1))]
        if lines > 0:
            return next((at for at in column if at[0] >= row + lines), column[-1])
        return next((at for at in reversed(column) if at[0] <= row + lines), column[0])

    def _show_cursor(self, name: str) -> None:
        if name in ("up", "first", "page-up", "half-up") and self._at == self._places[0]:
            self.body.scroll_lines(-FAR)
        elif name in ("down", "last", "page-down", "half-down") and self._at[0] == self._places[-1][0]:
            self.body.scroll_lines(FAR)
        else:
            self.paper.show_index(self._at[0])
