"""The help: every action with its keys, generated from the registry of actions, and narrowed by what is typed."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.action_registry import Action, help_text
from tui.screen.dialogs.lines_below_header import NARROW, cells_in_dialog
from tui.screen.views.bases.base_view import FAR, lines_of
from tui.screen.widgets.base_line_view import Paper
from tui.text.screen_line import Line, Span, width, wrap

_WIDEST = 110
_TITLES = {
    "go": "Going somewhere",
    "move": "Moving",
    "find": "Finding",
    "change": "Changing",
    "act": "Acting on jobs, vnodes and queues",
    "simulated": "The simulated cluster",
    "console": "The console",
}


_KEYS, _COMMAND = 12, 26
_INDENT = 4


def help_lines(
    simulated: bool, cells: int, *, migrates: bool = False, here: Collection[str] = (), typed: str = ""
) -> list[Line]:
    """The lines of the help, at most ``cells`` wide; a long explanation continues below itself. The actions
    named ``here`` come first; only those that have all ``typed`` words in key, name or explanation are there."""
    indent = _KEYS + _COMMAND if cells >= NARROW else _INDENT
    room = max(1, cells - indent)
    lines: list[Line] = []
    wanted = typed.lower().split()
    groups = [(_TITLES[group], actions) for group, actions in help_text(simulated, migrates=migrates)]
    in_view = [action for _, actions in groups for action in actions if action.name in here]
    for title, every in [("In this view", in_view), *groups]:
        actions = [action for action in every if all(word in _text_of(action) for word in wanted)]
        if not actions:
            continue
        lines += [((title, "title"),)]
        for action in actions:
            command = f":{action.name}" + (f" {action.argument}" if action.argument else "")
            if indent == _INDENT:
                lines += [(part,) for part in _narrow_head(action.shown_keys, command, cells)]
                beside = False
            else:
                beside = len(command) < _COMMAND
                lines.append(((f"  {action.shown_keys:<{_KEYS - 2}}", "key"), (f"{command:<{_COMMAND}}", "dim")))
            first, *rest = wrap(action.help, room)
            if beside:
                lines[-1] = (*lines[-1], (first, ""))
            lines += [((" " * indent, ""), (more, "")) for more in (rest if beside else [first, *rest])]
        lines.append(())
    return lines or [(("no action has that", "dim"),)]


def _narrow_head(keys: str, command: str, cells: int) -> list[Span]:
    """Keys and command, below each other where one line has no room for both."""
    if width(keys) + 1 + width(command) <= cells:
        return [(f"{keys} {command}".strip(), "key")]
    return [(part, role) for text, role in ((keys, "key"), (command, "dim")) for part in wrap(text, cells)]


def _text_of(action: Action) -> str:
    return f"{action.shown_keys} {action.name} {action.argument} {action.help}".lower()


class HelpScreen(ModalScreen[None]):
    """The help, above all views; what is typed narrows it, escape and enter close it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Vertical { width: 110; max-width: 100%; height: 90%; padding: 0 1; border: round $primary;
                            background: $surface; }
    HelpScreen.-low > Vertical { height: 1fr; }
    HelpScreen Input { height: 1; border: none; padding: 0; background: $boost; }
    HelpScreen Paper { height: 1fr; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "dismiss", show=False, priority=True),
        *(
            Binding(key, f"move('{move}')", show=False, priority=True)
            for key, move in (
                ("up", "up"),
                ("down", "down"),
                ("pageup", "page-up"),
                ("pagedown", "page-down"),
                ("ctrl+u", "half-up"),
                ("ctrl+d", "half-down"),
            )
        ),
    ]

    def __init__(self, *, simulated: bool, migrates: bool = False, here: Collection[str] = ()) -> None:
        super().__init__()
        self._here = here
        self.field = Input(compact=True, placeholder="type to narrow")
        self.paper = Paper()
        self.paper.can_focus = False
        self._simulated, self._migrates = simulated, migrates

    def compose(self) -> ComposeResult:
        """The field and the lines."""
        with Vertical():
            yield self.field
            yield self.paper

    def on_mount(self) -> None:
        """Immediately: keys that were typed ahead belong to the field."""
        self.set_focus(self.field)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what the typed words leave."""
        event.stop()
        self.paper.scroll_lines(-FAR)
        self.on_resize()

    def on_resize(self) -> None:
        """The lines depend on the width."""
        cells = cells_in_dialog(self.app, _WIDEST)
        typed = self.field.value
        self.paper.show(help_lines(self._simulated, cells, migrates=self._migrates, here=self._here, typed=typed))

    def action_move(self, move: str) -> None:
        """Scroll."""
        self.paper.scroll_lines(lines_of(move, self.paper.page))
