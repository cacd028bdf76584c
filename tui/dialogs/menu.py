"""The menu of what can be done with what is marked or under the cursor; choosing opens that action's dialog.

Nothing in it does anything by itself, so that no key harms; what cannot be done just now says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui.core.lines import Line, safe
from tui.widgets.lines import Paper


@dataclass(frozen=True)
class Item:
    """One line of the menu: its name, what it does, why it cannot be done (empty: it can), and what opens it."""

    name: str
    help: str
    why_not: str
    open: Callable[[], None]


class ActMenu(ModalScreen["Item | None"]):
    """A title and the items; up and down choose, enter opens, escape leaves."""

    DEFAULT_CSS = """
    ActMenu { align: center middle; }
    ActMenu > Vertical { width: 90; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
                         border: round $primary; background: $surface; }
    ActMenu Paper { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,a", "dismiss", show=False),
        Binding("up,k", "go(-1)", show=False),
        Binding("down,j", "go(1)", show=False),
        Binding("enter", "choose", show=False),
    ]

    def __init__(self, title: str, items: list[Item]) -> None:
        super().__init__()
        self._title, self._items = title, items
        self._at = 0
        self.paper = Paper()
        self.paper.can_focus = False

    def compose(self) -> ComposeResult:
        """The lines."""
        with Vertical():
            yield self.paper

    def on_mount(self) -> None:
        """Fill the lines."""
        self.paper.styles.height = len(self._items) + 2
        self._show()

    def _show(self) -> None:
        lines: list[Line] = [((safe(self._title), "title"),)]
        for index, item in enumerate(self._items):
            pointer = "▸" if index == self._at else " "
            told = safe(item.why_not or item.help)
            role = " cursor" if index == self._at else ""
            lines.append(((f"{pointer} {item.name:<14}", f"key{role}"), (told, ("dim" if item.why_not else "") + role)))
        lines.append((("enter", "key"), (" look at it   ", ""), ("esc", "key"), (" leave", "")))
        self.paper.show(lines)

    def action_go(self, steps: int) -> None:
        """Another item."""
        self._at = (self._at + steps) % len(self._items)
        self._show()

    def action_choose(self) -> None:
        """This item."""
        self.dismiss(self._items[self._at])
