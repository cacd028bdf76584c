"""The dialog for one operation: a value where one is needed, the exact commands, their effects, then a confirmation.

Its only partner is the runner, which prepares, previews and runs the operation. Targets are fixed before the dialog
opens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.backends.interface.commands_interface import ChangeError
from tui.operations.confirmation.typed_confirmation import is_confirmed
from tui.operations.operation_type_and_preview import Operation
from tui.screen.dialogs.lines_below_header import cells_in_dialog, keys_that_fit, lines_in_dialog
from tui.screen.widgets.base_line_view import Paper
from tui.screen.workers.operation_runner import Make, OperationRunner
from tui.screen.workers.worker_messages import PreviewLines
from tui.text.screen_line import Line, plain, safe, width, wrap

_WIDEST, _NARROWEST = 100, 8
_OTHER_LINES, _FIELD_LINES = 2, 1
"""Lines of the dialog besides those about the operation: head and keys; and the field, where there is one."""


@dataclass(frozen=True)
class Question:
    """What a dialog is about: ``make`` makes the operation from the typed text.

    ``wanted`` describes the value to type, empty where none is needed; ``choices`` are the possible values where they
    can be listed; ``given`` is a value that is prepared at once; ``label`` stands beside the field. ``asks``: the value
    is asked for before anything is shown; without it an empty one is prepared, too, where none is given.
    """

    head: str
    make: Make
    wanted: str = ""
    choices: tuple[str, ...] = ()
    given: str = ""
    label: str = ""
    asks: bool = True


class OperationDialog(ModalScreen[None]):
    """The dialog of one question. Its state is typing (a value), ready (``a``, ``e``, ``esc``) or confirming."""

    DEFAULT_CSS = """
    OperationDialog { align: center middle; }
    OperationDialog > Vertical { width: 100; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
                            border: round $warning; background: $surface; }
    OperationDialog Horizontal { height: 1; }
    OperationDialog Horizontal.hidden { display: none; }
    OperationDialog Input { width: 1fr; max-width: 40; height: 1; border: none; padding: 0; background: $boost; }
    OperationDialog Paper { height: auto; background: $surface; }
    OperationDialog .head { height: 1; }
    OperationDialog .foot { height: 1; }
    """
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("a", "apply", show=False),
        Binding("e", "edit", show=False),
        Binding("u", "unlock", show=False),
        Binding("up", "go(-1)", show=False),
        Binding("down", "go(1)", show=False),
        Binding("k", "go(-1)", show=False),
        Binding("j", "go(1)", show=False),
        Binding("pageup", "go(-8)", show=False),
        Binding("pagedown", "go(8)", show=False),
    ]

    def __init__(self, question: Question, runner: OperationRunner) -> None:
        super().__init__()
        self._question, self._runner = question, runner
        self._state = "typing"
        self._value = question.given
        self._asked = ""
        self._shown: list[Line] = []
        self._head_goes_on: list[Line] = []
        self.operation: Operation | None = None
        self.head, self.details, self.foot = Paper(classes="head"), Paper(classes="details"), Paper(classes="foot")
        self.label, self.entry = Paper(), Horizontal()
        for paper in (self.head, self.label, self.details, self.foot):
            paper.can_focus = False
        self.field = Input(compact=True, select_on_focus=True)

    def compose(self) -> ComposeResult:
        """Head, the field with its label, the commands and effects, the keys."""
        with Vertical():
            yield self.head
            with self.entry:
                yield self.label
                yield self.field
            yield self.details
            yield self.foot

    def on_mount(self) -> None:
        """Prepare the given value, or open the field."""
        self._show_head()
        self._say([])
        if self._question.given or not self._question.wanted or not self._question.asks:
            self._look(self._question.given)
        else:
            self.action_edit()

    def on_resize(self) -> None:
        """The lines depend on the width."""
        self._show_head()
        self._say(self._shown)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: prepare the typed value, or confirm."""
        event.stop()
        if self._state == "confirming":
            self._confirm(event.value)
        else:
            self._look(event.value)

    def _show_head(self) -> None:
        """What it is about, on which server, and whether it can be undone."""
        ends_work = self.operation is not None and self.operation.ends_work
        badge = (("  ", ""), ("PRODUCTION", "bad cursor")) if self._runner.is_production else ()
        where = f" on {safe(self._runner.server)}{', cannot be undone' if ends_work else ''}"
        line: Line = ((safe(self._question.head), "bad" if ends_work else "title"), (where, "dim"), *badge)
        # A head that is cut off is the first thing that is said below it.
        self._head_goes_on = [((plain(line), "warn"),)] if width(plain(line)) > self._cells else []
        self.head.show([line])

    # The value and its effects.

    def _look(self, text: str) -> None:
        self._value = text
        try:
            self.operation = self._runner.prepare(self._question.make, text.strip())
        except ChangeError as error:
            self.operation = None
            self._say([((safe(str(error)), "bad"),)])
            self.action_edit()
            return
        self._be_ready()
        self._show_head()
        self._say([*self._runner.lines(self.operation), (("working out what it would do", "dim"),)])
        self._runner.preview(self.operation, self)

    def on_preview_lines(self, message: PreviewLines) -> None:
        """Show the effects of an operation; ignored if another value was typed since."""
        message.stop()
        if message.operation is self.operation:
            self._say([*self._runner.lines(message.operation), *message.lines])

    def _say(self, lines: list[Line]) -> None:
        self._shown = lines
        self._lay_out()

    def _lay_out(self) -> None:
        cells = self._cells
        wrapped: list[Line] = []
        for line in [*self._head_goes_on, *self._shown]:
            if len(line) == 1 or width(plain(line)) > cells:
                text, role = plain(line), line[0][1]
                indent = " " * (len(text) - len(text.lstrip()))
                wrapped += [((indent + part, role),) for part in wrap(text.lstrip(), cells - len(indent))]
            else:
                wrapped.append(line)
        self.details.styles.height = max(1, min(len(wrapped), self._room))
        self.details.show(wrapped)
        self.show_keys()

    @property
    def _cells(self) -> int:
        return max(_NARROWEST, cells_in_dialog(self.app, _WIDEST))

    @property
    def _room(self) -> int:
        """The lines about the operation that there is room for."""
        field = 0 if self.entry.has_class("hidden") else _FIELD_LINES
        return max(1, lines_in_dialog(self.app) - _OTHER_LINES - field)

    # The keys.

    def show_keys(self) -> None:
        """Show the keys that work in the present state."""
        hints: list[Line] = [(("esc", "key"), (" cancel", ""))]
        if self.details.line_count() > self._room:
            hints.append((("↑ ↓" if self._state == "confirming" else "j k", "key"), (" scroll", "")))
        if self._state == "confirming":
            asked = f"type {safe(self._asked)}"
            whole: Line = ((f"{asked} and ", "warn"), ("enter", "key"), (" to do it", ""))
            hints.insert(0, whole if width(plain(whole)) <= self._cells else ((asked, "warn"),))
        elif self._state == "typing":
            choices = "  ".join(safe(choice) for choice in self._question.choices)
            known: list[Line] = [((f"up and down: {choices}", "dim"),)] if choices else []
            hints = [(("enter", "key"), (" preview", "")), *hints, *known]
        else:
            why_not = self._runner.why_not()
            apply: Line = ((why_not, "warn"),) if why_not else (("a", "key"), (" apply", ""))
            edit: list[Line] = [(("e", "key"), (" edit", ""))] if self._question.wanted else []
            hints = [apply, hints[0], *edit, *hints[1:]]
        self.foot.show([keys_that_fit(hints, self._cells)])

    def action_edit(self) -> None:
        """Open the field for another value."""
        if not self._question.wanted:
            return
        self.operation = None
        self._state = "typing"
        self._open_field(self._value, self._question.wanted, self._question.label)

    def action_apply(self) -> None:
        """Accept the operation shown, or open the field for its confirmation."""
        if self.operation is None or self._state != "ready":
            return
        if self._runner.why_not():
            self.show_keys()
            return
        self._asked = self._runner.confirmation(self.operation)
        if not self._asked:
            self._run(self.operation)
            return
        self._state = "confirming"
        # No placeholder in the field: it would look as if it had been typed already.
        self._open_field("", "", f"type {self._asked}:" if width(self._asked) < self.app.size.width // 4 else "confirm")

    def action_unlock(self) -> None:
        """Unlock for a while."""
        self._runner.unlock(self.show_keys)

    def _confirm(self, text: str) -> None:
        if self._runner.why_not():
            self._be_ready()
            self.show_keys()
        elif self.operation is not None and is_confirmed(self._asked, text):
            self._run(self.operation)
        else:
            self.field.value = ""
            wrong: Line = ((f"that is not {safe(self._asked)}", "bad"),)
            self.foot.show([keys_that_fit([wrong, (("esc", "key"), (" cancel", ""))], self._cells)])

    def action_go(self, steps: int) -> None:
        """While a value is typed, go to another of the choices; otherwise scroll."""
        choices = self._question.choices
        if self._state == "typing" and choices:
            at = choices.index(self.field.value) + steps if self.field.value in choices else min(0, steps)
            self.field.value = choices[at % len(choices)]
            self.field.cursor_position = len(self.field.value)
        else:
            self.details.scroll_lines(steps)

    def action_leave(self) -> None:
        """Leave without a change."""
        self.dismiss()

    def _run(self, operation: Operation) -> None:
        self._runner.run(operation)
        self.dismiss()

    def _be_ready(self) -> None:
        self._state = "ready"
        self._label_field(self._question.label if self._question.wanted else "")
        self.field.value = self._value
        self.set_focus(None)

    def _label_field(self, label: str) -> None:
        """Show the field with its label; hide both where there is none."""
        self.entry.set_class(not label, "hidden")
        self.label.styles.width = width(label) + 2
        self.label.show([((safe(label), "dim"),)])
        self._lay_out()

    def _open_field(self, value: str, wanted: str, label: str) -> None:
        self._label_field(label)
        self.field.placeholder = wanted
        self.field.value = value
        # Immediately: keys that were typed ahead belong to the field.
        self.set_focus(self.field)


def open_dialog(app: App[Any], question: Question, runner: OperationRunner) -> None:
    """Open the dialog of a question. Raises :class:`ChangeError` where the question takes no value and its operation is
    not possible.
    """
    if not question.wanted:
        runner.prepare(question.make, "")
    app.push_screen(OperationDialog(question, runner))
