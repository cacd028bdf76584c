"""The dialog for a table's columns: which are shown, and in which order. Nothing changes before enter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from tui.screen.dialogs.base_list_dialog import ListDialog
from tui.screen.dialogs.lines_below_header import cells_in_dialog, keys_that_fit, lines_in_dialog
from tui.screen.widgets.base_line_view import Paper
from tui.text.screen_line import Line, safe

_WIDEST = 72
_OTHER_LINES = 2


class ColumnsDialog(ListDialog["tuple[str, ...] | None"]):
    """Lists the offered columns, the shown ones first, each with its title where that differs. The result is the names
    to show, empty for the usual columns, or None if the dialog was left.
    """

    DEFAULT_CSS = """
    ColumnsDialog > Vertical { width: 72; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", show=False),
        Binding("enter", "take", show=False),
        Binding("space", "show_or_hide", show=False),
        Binding("d", "take_usual", show=False),
        Binding("K,shift+up", "carry(-1)", show=False),
        Binding("J,shift+down", "carry(1)", show=False),
    ]

    def __init__(self, view: str, shown: Sequence[str], offered: Sequence[str], titles: Mapping[str, str]) -> None:
        super().__init__()
        self._titles = titles
        self._view = view
        self._shown = set(shown)
        self._names = list(dict.fromkeys([*shown, *offered]))
        self._head, self._foot = Paper(), Paper()
        for paper in (self._head, self._foot):
            paper.can_focus = False

    @property
    def count(self) -> int:
        """How many columns are offered."""
        return len(self._names)

    def compose(self) -> ComposeResult:
        """Head, columns, keys."""
        with Vertical():
            yield self._head
            yield self.paper
            yield self._foot

    def on_mount(self) -> None:
        """Fill head, columns and keys."""
        self._head.show([((f"columns of {self._view}", "title"),)])
        self.on_resize()

    def on_resize(self) -> None:
        """The height, and the keys that fit, depend on the size of the terminal."""
        keys = (("space", "show"), ("enter", "apply"), ("esc", "cancel"), ("J K", "order"), ("d", "default"))
        hints: list[Line] = [((key, "key"), (f" {does}", "")) for key, does in keys]
        self._foot.show([keys_that_fit(hints, cells_in_dialog(self.app, _WIDEST))])
        self.show_entries()

    def show_entries(self) -> None:
        """Show the columns, as many as there is room for."""
        self.paper.styles.height = max(1, min(len(self._names), lines_in_dialog(self.app) - _OTHER_LINES))
        lines: list[Line] = []
        for index, name in enumerate(self._names):
            here = index == self.at
            mark = "x" if name in self._shown else " "
            cursor = "cursor" if here else ""
            title = self._titles.get(name, name)
            also: Line = ((f"  {safe(title)}", f"dim {cursor}".strip()),) if title != name else ()
            lines.append(((f"{'▸' if here else ' '}[{mark}] {safe(name)}", f"bold {cursor}" if here else ""), *also))
        self.paper.show(lines)
        self.paper.show_index(self.at)

    def action_show_or_hide(self) -> None:
        """Show or hide the column under the cursor."""
        self._shown ^= {self._names[self.at]}
        self.show_entries()

    def action_carry(self, steps: int) -> None:
        """Move the column under the cursor by ``steps`` places."""
        to = self.at + steps
        if 0 <= to < len(self._names):
            self._names.insert(to, self._names.pop(self.at))
            self.at = to
            self.show_entries()

    def action_take(self) -> None:
        """Accept the chosen columns; without any, the usual ones."""
        self.dismiss(tuple(name for name in self._names if name in self._shown))

    def action_take_usual(self) -> None:
        """Accept the usual columns."""
        self.dismiss(())

    def action_leave(self) -> None:
        """Leave the columns as they are."""
        self.dismiss(None)
