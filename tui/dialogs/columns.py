"""The dialog about a table's columns: which are shown, and in which order; nothing changes until enter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui.core.lines import Line, safe
from tui.views.base import lines_of
from tui.widgets.lines import Paper

_OTHER_LINES = 4


class ColumnsDialog(ModalScreen["tuple[str, ...] | None"]):
    """The columns that are offered, those that are shown first. Its result are the names that are to be shown, none
    for the usual ones, or None where it was left."""

    DEFAULT_CSS = """
    ColumnsDialog { align: center middle; }
    ColumnsDialog > Vertical { width: 72; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
                               border: round $primary; background: $surface; }
    ColumnsDialog Paper { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", show=False),
        Binding("enter", "take", show=False),
        Binding("space", "turn", show=False),
        Binding("d", "take_usual", show=False),
        Binding("K,shift+up", "carry(-1)", show=False),
        Binding("J,shift+down", "carry(1)", show=False),
        *(
            Binding(keys, f"go('{move}')", show=False)
            for keys, move in (
                ("up,k", "up"),
                ("down,j", "down"),
                ("pageup", "page-up"),
                ("pagedown", "page-down"),
                ("g,home", "first"),
                ("G,end", "last"),
            )
        ),
    ]

    def __init__(self, view: str, shown: Sequence[str], offered: Sequence[str]) -> None:
        super().__init__()
        self._view = view
        self._shown = set(shown)
        self._names = list(dict.fromkeys([*shown, *offered]))
        self._at = 0
        self._head, self.paper, self._foot = Paper(), Paper(), Paper()
        for paper in (self._head, self.paper, self._foot):
            paper.can_focus = False

    def compose(self) -> ComposeResult:
        """The lines."""
        with Vertical():
            yield self._head
            yield self.paper
            yield self._foot

    def on_mount(self) -> None:
        """Fill the lines."""
        self._head.show([((f"columns of {self._view}", "title"),)])
        keys = (("space", "show"), ("J K", "order"), ("d", "the usual"), ("enter", "take"), ("esc", "leave"))
        self._foot.show([tuple(span for key, does in keys for span in ((key, "key"), (f" {does}   ", "")))])
        self._tell()

    def on_resize(self) -> None:
        """As many lines as there is room for."""
        self._tell()

    def _tell(self) -> None:
        self.paper.styles.height = max(1, min(len(self._names), self.app.size.height - _OTHER_LINES))
        lines: list[Line] = []
        for index, name in enumerate(self._names):
            here = index == self._at
            mark = "x" if name in self._shown else " "
            lines.append(((f"{'▸' if here else ' '}[{mark}] {safe(name)}", "bold cursor" if here else ""),))
        self.paper.show(lines)
        self.paper.show_index(self._at)

    def action_go(self, move: str) -> None:
        """Another column."""
        self._at = max(0, min(self._at + lines_of(move, self.paper.page), len(self._names) - 1))
        self._tell()

    def action_turn(self) -> None:
        """Show the column, or no longer."""
        self._shown ^= {self._names[self._at]}
        self._tell()

    def action_carry(self, steps: int) -> None:
        """Carry the column up or down."""
        to = self._at + steps
        if 0 <= to < len(self._names):
            self._names.insert(to, self._names.pop(self._at))
            self._at = to
            self._tell()

    def action_take(self) -> None:
        """Take these columns; without any, the usual ones."""
        self.dismiss(tuple(name for name in self._names if name in self._shown))

    def action_take_usual(self) -> None:
        """Take the usual columns."""
        self.dismiss(())

    def action_leave(self) -> None:
        """Leave the columns as they are."""
        self.dismiss(None)
