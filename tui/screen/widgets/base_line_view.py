"""Lines that repaint only where they changed: the base of every widget of a view.

A subclass gives the number of lines, and each line when it is painted; :meth:`LineView.update` repaints only the
visible ones that differ from what was painted. There is no markup: a line is text with roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.screen.widgets.text_roles import find_style
from tui.text.screen_line import Line, fit_line

if TYPE_CHECKING:
    from rich.style import Style
    from textual.events import MouseScrollDown, MouseScrollUp, Resize

_WHEEL = 3
_NEAR = 16
"""Longest gap in cells between two changes that are written together: skipping it would cost more, with its colours."""


class LineView(ScrollView, can_focus=True):
    """Lines of text with roles."""

    DEFAULT_CSS = """
    LineView { background: $background; color: $foreground; scrollbar-size: 0 0; overflow: hidden hidden; }
    """
    pinned = 0
    """How many lines at the top do not scroll."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(name=name, id=id, classes=classes)
        self._painted: dict[int, Line] = {}
        self._styles_of_roles: dict[str, Style] = {}

    def line_count(self) -> int:
        """How many lines there are, without the pinned ones."""
        raise NotImplementedError

    def line_at(self, index: int, cells: int) -> Line:
        """Line ``index`` for a width; pinned lines have negative indices, the last one -1."""
        raise NotImplementedError

    def update(self) -> None:
        """Repaint the visible lines that differ from the painted ones."""
        self._fit()
        # Textual works these out anew each time that they are read.
        (cells, height), top = self.size, self.scroll_offset.y
        for y in range(height):
            line = self._line_on(y, cells, top)
            painted = self._painted.get(y)
            if painted is not None and painted != line:
                self.refresh(*_changed_parts(painted, line, y, cells))

    def update_all(self) -> None:
        """Repaint every visible line."""
        self._painted.clear()
        self._fit()
        self.refresh()

    def show_index(self, index: int) -> None:
        """Scroll as little as needed to make a line visible."""
        room = max(1, self.size.height - self.pinned)
        top = self.scroll_offset.y
        if index < top:
            self.scroll_to(y=index, animate=False, force=True, immediate=True)
        elif index >= top + room:
            self.scroll_to(y=index - room + 1, animate=False, force=True, immediate=True)

    def scroll_lines(self, lines: int) -> None:
        """Scroll down by ``lines``, up where negative."""
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False, force=True, immediate=True)

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is in sight."""
        return self.scroll_offset.y + max(1, self.size.height - self.pinned) >= self.line_count()

    @property
    def page(self) -> int:
        """How many lines a page has."""
        return max(1, self.size.height - self.pinned - 1)

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        cells = self.size.width
        line = self._line_on(y, cells, self.scroll_offset.y)
        self._painted[y] = line
        strip = Strip([Segment(text, self._style(role)) for text, role in line if text], cells)
        return strip.simplify()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """The wheel scrolls."""
        event.stop()
        self.scroll_lines(_WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """The wheel scrolls."""
        event.stop()
        self.scroll_lines(-_WHEEL)

    def on_resize(self, _: Resize) -> None:
        """All lines depend on the width."""
        self.update_all()

    def notify_style_update(self) -> None:
        """Colours changed: forget the styles made from the old ones."""
        super().notify_style_update()
        self._styles_of_roles.clear()

    def _fit(self) -> None:
        wanted = Size(self.size.width, self.line_count() + self.pinned)
        if wanted != self.virtual_size:
            self.virtual_size = wanted

    def _line_on(self, y: int, cells: int, top: int) -> Line:
        index = y - self.pinned if y < self.pinned else y - self.pinned + top
        if index >= self.line_count():
            return ((" " * cells, ""),)
        return fit_line(self.line_at(index, cells), cells)

    def _style(self, role: str) -> Style:
        style = self._styles_of_roles.get(role)
        if style is None:
            style = self.rich_style + find_style(self.app, role)
            self._styles_of_roles[role] = style
        return style


def _changed_parts(old: Line, new: Line, y: int, cells: int) -> list[Region]:
    """The regions that differ, near ones merged; the whole line where some character is not one cell wide."""
    before = [(character, role) for text, role in old for character in text]
    after = [(character, role) for text, role in new for character in text]
    if len(before) != cells or len(after) != cells:
        return [Region(0, y, cells, 1)]
    parts: list[list[int]] = []
    for x in range(cells):
        if before[x] != after[x]:
            if parts and x - parts[-1][1] <= _NEAR:
                parts[-1][1] = x
            else:
                parts.append([x, x])
    return [Region(first, y, last - first + 1, 1) for first, last in parts]


class Paper(LineView):
    """Lines that are made beforehand: overview, one job, the plan, help."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(name=name, id=id, classes=classes)
        self._lines: list[Line] = []

    def show(self, lines: list[Line]) -> None:
        """Show these lines."""
        self._lines = lines
        self.update()

    def line_count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def line_at(self, index: int, cells: int) -> Line:
        """The line as it was made."""
        return self._lines[index]
