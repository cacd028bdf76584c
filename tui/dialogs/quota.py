"""The quota dialog: type a number, see the exact line and what it would do to the jobs, then apply or leave.

Nothing here changes anything: the dialog asks for a preview through a callback that runs elsewhere, and its result is
the change that somebody chose to apply, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from policy.limits import EntityKey
from tui.core.lines import Line, safe, wrap
from tui.core.quota_change import QuotaChange, QuotaError, parse_quota, show_quota
from tui.core.quota_rows import show_name
from tui.widgets.lines import Paper

Prepare = Callable[["int | None"], QuotaChange]
"""The change to a quota; raises :class:`QuotaError`."""

_OTHER_LINES = 5
"""What the dialog needs beside the lines about the change: border, head, field, keys."""


class QuotaDialog(ModalScreen["QuotaChange | None"]):
    """One quota's dialog. It is either editing (the field has the keys) or ready (``a``, ``e``, ``esc``)."""

    DEFAULT_CSS = """
    QuotaDialog { align: center middle; }
    QuotaDialog > Vertical { width: 100; max-width: 100%; height: auto; max-height: 100%; padding: 0 1;
                             border: round $warning; background: $surface; }
    QuotaDialog.ascii > Vertical { border: ascii $warning; }
    QuotaDialog Input { width: 20; height: 1; border: none; padding: 0; background: $boost; }
    QuotaDialog Paper { height: auto; background: $surface; }
    QuotaDialog .head { height: 1; }
    QuotaDialog .foot { height: 1; }
    """
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("a", "apply", show=False),
        Binding("e", "edit", show=False),
    ]

    def __init__(
        self,
        queue: str,
        entity: EntityKey,
        now: int | None,
        prepare: Prepare,
        foresee: Callable[[QuotaChange], None],
        *,
        unlocked: Callable[[], bool],
        given: str = "",
        ascii_only: bool = False,
    ) -> None:
        super().__init__(classes="ascii" if ascii_only else None)
        self._queue, self._entity, self._now = queue, entity, now
        self._prepare, self._foresee, self._unlocked = prepare, foresee, unlocked
        self._given = given
        self.change: QuotaChange | None = None
        self.head, self.told, self.foot = Paper(classes="head"), Paper(classes="told"), Paper(classes="foot")
        for paper in (self.head, self.told, self.foot):
            paper.can_focus = False
            paper.ascii_only = ascii_only
        self.field = Input(value=given, compact=True, placeholder="cores, or none", select_on_focus=True)
        self._lines: list[Line] = []

    def compose(self) -> ComposeResult:
        """Who, the field, what would happen, the keys."""
        with Vertical():
            yield self.head
            yield self.field
            yield self.told
            yield self.foot

    def on_mount(self) -> None:
        """Start with what was given, or with the field."""
        self.head.show(
            [
                (
                    (f"{show_name(self._entity)} in {safe(self._queue)}", "title"),
                    (f" · quota now {show_quota(self._now)}", ""),
                ),
            ]
        )
        self._say([])
        if self._given:
            self._look(self._given)
        else:
            self.action_edit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: look at what it would do."""
        event.stop()
        self._look(event.value)

    def _look(self, text: str) -> None:
        try:
            self.change = self._prepare(parse_quota(text))
        except QuotaError as error:
            self.change = None
            self._say([((safe(str(error)), "bad"),)])
            self.action_edit()
            return
        self.set_focus(None)
        self._say([((safe(self.change.line), "bold"),), (("working out what it would do", "dim"),)])
        self._foresee(self.change)

    def show_effects(self, change: QuotaChange, effects: list[Line]) -> None:
        """Show what the change would do; ignored where another number was typed meanwhile."""
        if change == self.change:
            self._say([((safe(change.line), "bold"),), *effects])

    def _say(self, lines: list[Line]) -> None:
        cells = max(20, min(self.app.size.width, 100) - 6)
        wrapped: list[Line] = []
        for line in lines:
            if len(line) == 1:
                text, role = line[0]
                indent = " " * (len(text) - len(text.lstrip()))
                wrapped += [((indent + part, role),) for part in wrap(text.lstrip(), cells - len(indent))]
            else:
                wrapped.append(line)
        most = max(1, self.app.size.height - _OTHER_LINES)
        if len(wrapped) > most:
            wrapped = [*wrapped[: most - 1], ((f"and {len(wrapped) - most + 1} more lines", "dim"),)]
        self.told.styles.height = max(1, len(wrapped))
        self.told.show(wrapped)
        self.tell_keys()

    def tell_keys(self) -> None:
        """Say which keys do what now."""
        if self.change is None:
            self.foot.show([(("enter", "key"), (" look   ", ""), ("esc", "key"), (" leave", ""))])
        elif self._unlocked():
            self.foot.show(
                [(("a", "key"), (" apply   ", ""), ("e", "key"), (" edit   ", ""), ("esc", "key"), (" leave", ""))]
            )
        else:
            self.foot.show(
                [
                    (
                        ("read-only: esc, then u unlocks   ", "warn"),
                        ("e", "key"),
                        (" edit   ", ""),
                        ("esc", "key"),
                        (" leave", ""),
                    )
                ]
            )

    def action_edit(self) -> None:
        """Type another number."""
        self.change = None
        self.tell_keys()
        self.field.focus()

    def action_apply(self) -> None:
        """Apply what is shown."""
        if self.change is None:
            return
        if not self._unlocked():
            self.tell_keys()
            return
        self.dismiss(self.change)

    def action_leave(self) -> None:
        """Leave without a change."""
        self.dismiss(None)
