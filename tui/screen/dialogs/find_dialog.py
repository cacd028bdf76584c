"""The search over jobs, users, vnodes and queues: results narrow as one types, enter goes to one of them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.screen.dialogs.lines_below_header import lines_in_dialog
from tui.screen.views.bases.base_view import lines_of
from tui.screen.widgets.base_line_view import Paper
from tui.tables.find_anything import Everything, Found
from tui.text.screen_line import Line, fit, safe

_NAME_CELLS, _KIND_CELLS = 22, 6
_OTHER_LINES = 2


class FindDialog(ModalScreen["Found | None"]):
    """A field and what it finds. The result is what was chosen."""

    DEFAULT_CSS = """
    FindDialog { align: center top; }
    FindDialog > Vertical { width: 90; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
                            border: round $primary; background: $surface; }
    FindDialog Input { height: 1; border: none; padding: 0; background: $boost; }
    FindDialog Paper { height: 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", show=False, priority=True),
        Binding("enter", "choose", show=False, priority=True),
        *(
            Binding(key, f"go('{move}')", show=False, priority=True)
            for key, move in (("up", "up"), ("down", "down"), ("pageup", "page-up"), ("pagedown", "page-down"))
        ),
    ]

    def __init__(self, everything: Everything, text: str = "") -> None:
        super().__init__()
        self._everything = everything
        self._found: list[Found] = []
        self.at = 0
        self.field = Input(text, compact=True, placeholder="a job, user, vnode or queue", select_on_focus=False)
        self.paper, self._foot = Paper(), Paper()
        self.paper.can_focus = self._foot.can_focus = False

    def compose(self) -> ComposeResult:
        """The field, what it finds, the keys."""
        with Vertical():
            yield self.field
            yield self.paper
            yield self._foot

    def on_mount(self) -> None:
        """Immediately: keys that were typed ahead belong to the field."""
        self.set_focus(self.field)
        self._search()

    def on_resize(self) -> None:
        """The height depends on the size of the terminal."""
        self.tell()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search again."""
        event.stop()
        self._search()

    def _search(self) -> None:
        self._found, self.at = self._everything.find(self.field.value), 0
        self.tell()

    def tell(self) -> None:
        """Show what was found, and the keys."""
        lines: list[Line] = []
        for index, found in enumerate(self._found):
            here = index == self.at
            mark, role = ("▸", " cursor") if here else (" ", "")
            name = f"{mark}{fit(found.kind, _KIND_CELLS)} {fit(safe(found.shown), _NAME_CELLS)} "
            lines.append(((name, f"bold{role}"), (safe(found.about), role.strip())))
        if not lines:
            lines = [(("nothing has that" if self.field.value.strip() else "", "dim"),)]
        self.paper.styles.height = max(1, min(len(lines), lines_in_dialog(self.app) - _OTHER_LINES))
        self.paper.show(lines)
        self.paper.show_index(self.at)
        self._foot.show([(("enter", "key"), (" go there   ", ""), ("esc", "key"), (" cancel", ""))])

    def action_go(self, move: str) -> None:
        """Move the cursor to another result."""
        self.at = max(0, min(self.at + lines_of(move, self.paper.page), len(self._found) - 1))
        self.tell()

    def action_choose(self) -> None:
        """Go to the result under the cursor."""
        if self._found:
            self.dismiss(self._found[self.at])
