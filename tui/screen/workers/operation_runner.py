"""Runs the screen's operations: makes them ready, previews, confirms and does them, and undoes the last ones.

It is the only partner of the dialog (:mod:`tui.screen.dialogs.operation_dialog`). What is slow runs in worker threads,
which report by messages. Only one operation runs at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from tui.audit.audit_file import AuditLog
from tui.audit.unconfirmed_changes import report_unconfirmed
from tui.backends.backend_protocol import Backend, addressed
from tui.backends.commands_interface import Change, ChangeError, Commands
from tui.backends.migration_spool import MIGRATING_JOB, MigrationSpool
from tui.config.production_servers import Site
from tui.operations.compare_and_set import make_all
from tui.operations.effect_preview_lines import effect_lines
from tui.operations.operation_changes import Operation, foresee
from tui.operations.typed_confirmation import asked_for
from tui.screen.workers.worker_messages import Foreseen, Made, Making
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

_REMEMBERED = 50
_OFTEN_S = 0.5

Make = Callable[[ClusterView, Commands, str], Operation]
"""Makes an operation from what the server shows, its commands and the typed text, or raises ``ChangeError``."""


class Host(Protocol):
    """The screen, as the runner uses it."""

    backend: Backend
    spool: MigrationSpool

    def known_cluster(self) -> ClusterView:
        """The latest cluster view."""

    def is_unlocked(self) -> bool:
        """Whether changes are allowed now."""

    def turn_lock(self) -> bool:
        """Unlock for a while, or lock again; returns whether it is unlocked now."""

    def post_message(self, message: Any) -> bool:
        """Receive a message from a worker thread."""

    def run_worker(self, work: Callable[[], None], *, thread: bool, name: str) -> Any:
        """Run something in a thread."""


class OperationRunner:
    """The operations of one screen. ``done`` has for each operation its successful changes, the last operation last;
    ``busy`` is the operation under way. ``clock`` is the wall clock.
    """

    def __init__(self, host: Host, audit: AuditLog, site: Site, clock: Callable[[], float]) -> None:
        self._host, self._audit, self._site, self._clock = host, audit, site, clock
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

    def unconfirmed(self) -> str:
        """What an earlier console sent without a confirmation, reported once."""
        return report_unconfirmed(self._audit, self._clock)

    # For the dialog, in this order.

    def prepare(self, make: Make, text: str) -> Operation:
        """The operation for a typed text. Raises :class:`ChangeError`."""
        return make(self._host.known_cluster(), self._host.backend.commands, text)

    def foresee(self, operation: Operation, dialog: MessagePump) -> None:
        """Compute the effects of the operation; the dialog gets :class:`Foreseen`."""
        cluster = self._host.known_cluster()

        def work() -> None:
            lines: list[Line]
            try:
                lines = effect_lines(foresee(cluster, operation), cluster)
            except ChangeError as error:
                lines = [((f"no preview: {error}", "warn"),)]
            except Exception as error:  # noqa: BLE001 - a preview that fails is a line on the screen, not the console's end
                lines = [((f"no preview: {type(error).__name__}: {error}", "bad"),)]
            dialog.post_message(Foreseen(operation, lines))

        self._host.run_worker(work, thread=True, name="preview")

    def why_not(self) -> str:
        """Why no operation is possible now; empty where one is."""
        if self.busy is not None:
            return f"still running: {self.busy.title} (:halt stops it)"
        return "" if self._host.is_unlocked() else "read-only: u unlocks"

    def unlock(self) -> None:
        """Unlock for a while, if it is locked."""
        if not self._host.is_unlocked():
            self._host.turn_lock()

    def confirmation(self, operation: Operation) -> str:
        """What the user has to type to confirm the operation; empty for nothing."""
        server = self._host.known_cluster().server_name or self._host.backend.name
        return asked_for(operation, server, self._site)

    def run(self, operation: Operation) -> None:
        """Do a confirmed operation; the screen gets :class:`Making` and, at the end, :class:`Made`."""
        if self.busy is None:
            self._run(operation, undone=False)

    # For the screen.

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
            before = f"; z again undoes {self.done[-1][0].title}" if self.done else ""
            return f"{operation.title} cannot be undone{before}"
        self._run(Operation(f"undo: {operation.title}", back, operation.edit), undone=True)
        return ""

    def halt(self) -> str:
        """Stop the operation under way after the command that is being sent."""
        if self.busy is None:
            return "no operation is running"
        self._halted.set()
        return f"stopping {self.busy.title} after this command"

    def finish(self, message: Made) -> str:
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
        why = f" · {len(failed):,} failed, the first: {failed[0]}" if failed else ""
        return f"{operation.title}: {len(went_well):,} of {len(outcomes):,} done{undo}{why}"

    def _run(self, operation: Operation, *, undone: bool) -> None:
        self.busy = operation
        self._halted.clear()
        told_s = time.monotonic()

        def go_on(made: int) -> bool:
            nonlocal told_s
            if made and time.monotonic() - told_s > _OFTEN_S:
                told_s = time.monotonic()
                self._host.post_message(Making(operation, made))
            return not self._halted.is_set()

        def work() -> None:
            backend = self._host.backend
            migrates = operation.changes[0].target.kind == MIGRATING_JOB
            audit = addressed(self._audit, backend)
            outcomes = make_all(self._host.spool if migrates else backend, operation.changes, audit, self._clock, go_on)
            self._host.post_message(Made(operation, outcomes, undone=undone))

        self._host.run_worker(work, thread=True, name="operation")
