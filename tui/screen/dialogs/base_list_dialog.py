"""Base of dialogs that are a list: a frame with entries, one of which has the cursor."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tui.screen.views.bases.base_view import lines_of
from tui.screen.widgets.base_line_view import Paper

Result = TypeVar("Result")


class ListDialog(ModalScreen[Result]):
    """``at`` is the index of the entry under the cursor. A subclass gives the number of entries and shows them."""

    DEFAULT_CSS = """
    ListDialog { align: center middle; }
    ListDialog > Vertical { max-width: 100%; height: auto; max-height: 100%; padding: 0 1; border: round $primary;
                            background: $surface; }
    ListDialog Paper { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, f"go('{move}')", show=False)
        for keys, move in (
            ("up,k", "up"),
            ("down,j", "down"),
            ("pageup", "page-up"),
            ("pagedown", "page-down"),
            ("g,home", "first"),
            ("G,end", "last"),
        )
    ]

    def __init__(self) -> None:
        super().__init__()
        self.at = 0
        self.paper = Paper()
        self.paper.can_focus = False

    @property
    def count(self) -> int:
        """How many entries there are."""
        raise NotImplementedError

    def show_entries(self) -> None:
        """Show the entries in their present state."""
        raise NotImplementedError

    def action_go(self, move: str) -> None:
        """Move the cursor to another entry."""
        self.at = max(0, min(self.at + lines_of(move, self.paper.page), self.count - 1))
        self.show_entries()
