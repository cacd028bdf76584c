"""The menu of operations for the marked rows or the row under the cursor; choosing one opens its dialog.

Each has a letter beside it, which opens it at once; one that is not possible now shows the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key

from tui.screen.dialogs.base_list_dialog import ListDialog
from tui.screen.dialogs.lines_below_header import NARROW, cells_in_dialog, keys_that_fit, lines_in_dialog
from tui.text.screen_line import Line, safe, wrap

_NAME_CELLS = 16
_WIDEST, _INDENT = 100, 4


@dataclass(frozen=True)
class Item:
    """One line of the menu: its name, its help, why it is not possible (empty where it is), what opens it, and its
    letter (empty: none)."""

    name: str
    help: str
    why_not: str
    open: Callable[[], None]
    key: str = ""


class ActMenu(ListDialog["Item | None"]):
    """A title and the items. Up and down choose, enter or an item's letter opens, escape leaves."""

    DEFAULT_CSS = """
    ActMenu > Vertical { width: 100; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,a", "dismiss", show=False),
        Binding("enter", "choose", show=False),
    ]

    def __init__(self, title: str, items: list[Item]) -> None:
        super().__init__()
        self._title, self._items = title, items

    @property
    def count(self) -> int:
        """How many items there are."""
        return len(self._items)

    def compose(self) -> ComposeResult:
        """The lines."""
        with Vertical():
            yield self.paper

    def on_mount(self) -> None:
        """Fill the lines."""
        self.show_entries()

    def on_resize(self) -> None:
        """The lines depend on the width."""
        self.show_entries()

    def show_entries(self) -> None:
        """Show the items."""
        lines: list[Line] = [((safe(self._title), "title"),)]
        cells = cells_in_dialog(self.app, _WIDEST)
        indent = _NAME_CELLS if cells >= NARROW else _INDENT
        here = until = 0
        for index, item in enumerate(self._items):
            pointer = "▸" if index == self.at else " "
            role = " cursor" if index == self.at else ""
            here = len(lines) if index == self.at else here
            letter = f"{item.key or ' '} " if self._has_letters else ""
            name = f"{pointer} {letter}{item.name}"
            if indent == _INDENT:
                lines.append(((name, f"key{role}"),))
                name = ""
            for text in wrap(safe(item.why_not or item.help), cells - indent):
                lines.append(((f"{name:<{indent}}", f"key{role}"), (text, ("dim" if item.why_not else "") + role)))
                name = ""
            until = len(lines) - 1 if index == self.at else until
        choose: Line = (("enter", "key"), (" or the letter" if self._has_letters else " apply", ""))
        cancel: Line = (("esc", "key"), (" cancel", ""))
        lines.append(keys_that_fit([choose, cancel], cells))
        self.paper.styles.height = max(1, min(len(lines), lines_in_dialog(self.app)))
        self.paper.show(lines)
        # All of the item, its first line above all; the title as long as the cursor is on the first item.
        self.paper.show_index(until)
        self.paper.show_index(here if self.at else 0)

    @property
    def _has_letters(self) -> bool:
        return any(item.key for item in self._items)

    def on_key(self, event: Key) -> None:
        """A letter opens its item; without letters ``q`` leaves."""
        if event.key == "q" and not self._has_letters:
            event.stop()
            self.dismiss()
        found = next((item for item in self._items if item.key and item.key == event.character), None)
        if found is not None:
            event.stop()
            event.prevent_default()
            self.dismiss(found)

    def action_choose(self) -> None:
        """Accept the item under the cursor."""
        self.dismiss(self._items[self.at])
