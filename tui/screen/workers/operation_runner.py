"""Runs the screen's operations: dialog, preview, the changes one by one, and undo; slow parts run in worker threads.

Threads report by messages. Only one operation runs at a time; those that can be undone are remembered here, the last
one on top.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.audit.log import AuditLog
from tui.audit.unconfirmed import tell_unconfirmed
from tui.backends.base import Backend, addressed
from tui.config.site import Site
from tui.operations.change import Change, ChangeError, make_all
from tui.operations.operation import Operation, foresee
from tui.operations.preview_lines import effect_lines
from tui.operations.safeguards import asked_for
from tui.screen.dialogs.operation import OperationDialog, Question, Rules
from tui.screen.workers.messages import Foreseen, Made, Making
from tui.state.cluster_view import ClusterView
from tui.text.lines import Line

if TYPE_CHECKING:
    from textual.screen import Screen

_REMEMBERED = 50
_OFTEN_S = 0.5


class Changes:
    """The operations of one screen. ``done`` has for each operation its successful changes, the last operation last;
    ``busy`` is the operation under way. ``clock`` is the wall clock.
    """

    def __init__(
        self,
        screen: Screen[None],
        backend: Backend,
        audit: AuditLog,
        unlocked: Callable[[], bool],
        unlock: Callable[[], object],
        site: Site,
        clock: Callable[[], float],
    ) -> None:
        self._screen, self._backend, self._audit = screen, backend, audit
        self._unlocked, self._unlock = unlocked, unlock
        self._site = site
        self._clock = clock
        self._halted = threading.Event()
        self.done: list[tuple[Operation, tuple[Change, ...]]] = []
        self.busy: Operation | None = None

    @property
    def user(self) -> str:
        """The user who makes the changes, as the audit file has it."""
        return self._audit.actor.user

    @property
    def can_undo(self) -> bool:
        """Whether there is an operation to undo."""
        return bool(self.done)

    @property
    def undoes_last(self) -> bool:
        """Whether the last operation, or a part of it, can be undone."""
        return bool(self.done) and any(change.undo() for change in self.done[-1][1])

    def why_not(self) -> str:
        """Why no operation is possible now; empty where one is."""
        if self.busy is not None:
            return f"still at it: {self.busy.title} (:halt stops it)"
        return "" if self._unlocked() else "read-only: u unlocks"

    def unlock(self) -> None:
        """Unlock for a while, if it is locked."""
        if not self._unlocked():
            self._unlock()

    def unconfirmed(self) -> str:
        """What an earlier console sent without a confirmation, reported once."""
        return tell_unconfirmed(self._audit, self._clock)

    def ask(self, question: Question, cluster: Callable[[], ClusterView]) -> None:
        """Open the dialog for a question, and do the operation that results. Raises :class:`ChangeError` where the
        question takes no value and its operation is not possible.
        """
        if not question.wanted:
            question.prepare("")
        rules = Rules(
            lambda operation: self.foresee(cluster(), operation),
            lambda operation: asked_for(operation, cluster().server_name or self._backend.name, self._site),
            self.why_not,
            self.unlock,
        )
        self._screen.app.push_screen(OperationDialog(question, rules), self.chosen)

    def chosen(self, operation: Operation | None) -> None:
        """Do the operation that a dialog resulted in; None for none."""
        if operation is not None and self.busy is None:
            self._do(operation, undone=False)

    def undo(self) -> str:
        """Undo the last operation, each change only if its value was not changed since; returns why not, where it
        cannot be.

        An operation that cannot be undone at all is dropped, so that the next undo reaches the one before it.
        """
        if self.busy is not None:
            return self.why_not()
        operation, changes = self.done[-1]
        back = tuple(undo for undo in (change.undo() for change in reversed(changes)) if undo is not None)
        if not back:
            self.done.pop()
            before = f"; z again takes back {self.done[-1][0].title}" if self.done else ""
            return f"{operation.title} cannot be taken back{before}"
        self._do(Operation(f"undo: {operation.title}", back, operation.edit), undone=True)
        return ""

    def halt(self) -> str:
        """Stop the operation under way after the command that is being sent."""
        if self.busy is None:
            return "nothing is under way"
        self._halted.set()
        return f"stopping {self.busy.title} after this command"

    def foresee(self, cluster: ClusterView, operation: Operation) -> None:
        """Compute the effects of the operation; posts :class:`Foreseen`."""

        def work() -> None:
            lines: list[Line]
            try:
                lines = effect_lines(foresee(cluster, operation), cluster)
            except ChangeError as error:
                lines = [((f"no preview: {error}", "warn"),)]
            except Exception as error:  # noqa: BLE001 - a preview that fails is a line on the screen, not the console's end
                lines = [((f"no preview: {type(error).__name__}: {error}", "bad"),)]
            self._screen.post_message(Foreseen(operation, lines))

        self._screen.run_worker(work, thread=True, name="preview")

    def _do(self, operation: Operation, *, undone: bool) -> None:
        self.busy = operation
        self._halted.clear()
        told_s = time.monotonic()

        def go_on(made: int) -> bool:
            nonlocal told_s
            if made and time.monotonic() - told_s > _OFTEN_S:
                told_s = time.monotonic()
                self._screen.post_message(Making(operation, made))
            return not self._halted.is_set()

        def work() -> None:
            audit = addressed(self._audit, self._backend)
            outcomes = make_all(self._backend, operation.changes, audit, self._clock, go_on)
            self._screen.post_message(Made(operation, outcomes, undone=undone))

        self._screen.run_worker(work, thread=True, name="change")

    def made(self, message: Made) -> str:
        """Remember what can be undone; returns the sentence for the screen, with what matters most in front.

        Of an interrupted undo, the changes without a confirmed outcome stay, to be undone again.
        """
        self.busy = None
        operation, outcomes = message.operation, message.outcomes
        went_well = tuple(outcome.change for outcome in outcomes if outcome.ok)
        if message.undone:
            first, changes = self.done.pop()
            left = {outcome.change.target for outcome in outcomes if outcome.lost}
            still = tuple(change for change in changes if change.target in left and change.undo() is not None)
            if still:
                self.done.append((first, still))
        elif went_well:
            self.done = [*self.done[-_REMEMBERED + 1 :], (operation, went_well)]
        undo = " · z undoes it" if went_well and not message.undone and self.undoes_last else ""
        if operation.unmet and went_well and not message.undone:
            undo = f", but {operation.unmet[0]}{undo}"
        if len(outcomes) == 1:
            return outcomes[0].text + undo
        failed = [outcome.text for outcome in outcomes if not outcome.ok]
        why = f" · first of {len(failed):,} that were not: {failed[0]}" if failed else ""
        return f"{operation.title}: {len(went_well):,} of {len(outcomes):,} done{undo}{why}"
