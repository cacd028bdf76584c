"""Runs the screen's operations, one at a time: makes them ready, previews, confirms, does and undoes them.

It is the only partner of the dialog (:mod:`tui.screen.dialogs.operation_dialog`); what is slow runs in worker threads,
which report by messages.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tui.audit.audit_file import AuditLog
from tui.audit.unconfirmed_changes import report_unconfirmed
from tui.backends.interface.backend_protocol import Backend, audit_log_for
from tui.backends.interface.commands_interface import Change, ChangeError, Commands, Target
from tui.backends.migration_spool import MIGRATING_JOB, MigrationSpool
from tui.config.production_servers_and_server_list import Site
from tui.operations.compare_and_set import Outcome, make_all
from tui.operations.confirmation.confirmation_lines import further_lines, operation_lines
from tui.operations.confirmation.effect_preview_lines import effect_lines
from tui.operations.confirmation.typed_confirmation import asked_for
from tui.operations.operation_type_and_preview import Operation, preview_operation
from tui.operations.undo import Kept, keep_before, undo_of
from tui.pages.plan.what_if_page import what_if_lines
from tui.screen.workers.worker_messages import OperationEnded, OperationProgress, PreviewLines
from tui.state.cluster_view import ClusterView
from tui.state.server_poller import Forecasts
from tui.text.screen_line import Line

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

_REMEMBERED = 50
_OFTEN_S = 0.5
_AHEAD_ROWS = 5

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

    @property
    def cluster(self) -> ClusterView | None:
        """The latest cluster view; None before the first poll has succeeded."""

    def ask_to_unlock(self, then: Callable[[], object]) -> None:
        """Unlock for a while, on a production server after a yes, then call ``then``."""

    def post_message(self, message: Any) -> bool:
        """Receive a message from a worker thread."""

    def run_worker(self, work: Callable[[], None], *, thread: bool, name: str) -> Any:
        """Run something in a thread."""


class Done(NamedTuple):
    """An operation that was made: its successful changes, and what they changed as it was before."""

    operation: Operation
    changes: tuple[Change, ...]
    before: Kept

    @property
    def can_be_undone(self) -> bool:
        """Whether any part of it can be undone."""
        return any(change.undo() for change in self.changes)


class OperationRunner:
    """The operations of one screen. ``done`` has those that were made, the last one last; ``busy`` is the operation
    under way. ``clock`` is the wall clock; with ``forecasts`` the preview of an operation has the next day too.
    """

    def __init__(
        self, host: Host, audit: AuditLog, site: Site, clock: Callable[[], float], forecasts: Forecasts | None = None
    ) -> None:
        self._host, self._audit, self._site, self._clock = host, audit, site, clock
        self._forecasts = forecasts
        self.servers = site.servers
        self._halted = threading.Event()
        self.done: list[Done] = []
        self.busy: Operation | None = None
        self._before: Kept = {}

    @property
    def user(self) -> str:
        """The user who makes the changes, as the audit file has it."""
        return self._audit.actor.user

    @property
    def can_undo(self) -> bool:
        """Whether there is an operation to undo."""
        return bool(self.done)

    def unconfirmed(self) -> str:
        """What an earlier console sent without a confirmation, reported once."""
        return report_unconfirmed(self._audit, self._clock)

    @property
    def server(self) -> str:
        """The name of the server that changes reach."""
        cluster = self._host.cluster
        return (cluster.server_name if cluster is not None else "") or self._host.backend.name

    @property
    def is_production(self) -> bool:
        """Whether the server is listed as a production server."""
        return self._site.is_production(self.server)

    # For the dialog, in this order.

    def prepare(self, make: Make, text: str) -> Operation:
        """The operation for a typed text. Raises :class:`ChangeError`."""
        return make(self._host.known_cluster(), self._host.backend.commands, text)

    def lines(self, operation: Operation) -> list[Line]:
        """What is lost, the targets, the commands and the notes."""
        return operation_lines(operation, self._host.known_cluster())

    def preview(self, operation: Operation, dialog: MessagePump) -> None:
        """Compute the effects of the operation; the dialog gets :class:`PreviewLines`, again and again as what
        comes of it over the next day becomes known."""
        cluster = self._host.known_cluster()

        def work() -> None:
            lines: list[Line]
            try:
                lines = effect_lines(preview_operation(cluster, operation), cluster, operation.unaffected)
            except ChangeError as error:
                lines = [((f"no preview: {error}", "warn"),)]
            except Exception as error:  # noqa: BLE001 - a preview that fails is a line on the screen, not the console's end
                lines = [((f"no preview: {type(error).__name__}: {error}", "bad"),)]
            further = further_lines(operation, cluster)
            for ahead in self._look_ahead(cluster, operation):
                dialog.post_message(PreviewLines(operation, [*lines, *ahead, *further]))

        self._host.run_worker(work, thread=True, name="preview")

    def _look_ahead(self, cluster: ClusterView, operation: Operation) -> Iterator[list[Line]]:
        """The lines on the next day as they become better; first the one that they are being computed. None for what
        changes nothing that is decided by."""
        is_of_this_cluster = operation.changes[0].target.kind != MIGRATING_JOB
        if self._forecasts is None or not is_of_this_cluster or not operation.changes_decisions:
            yield []
            return
        yield [(("over the next 24 hours: being computed", "dim"),)]
        lines: list[Line] = [(("over the next 24 hours: not known", "dim"),)]
        try:
            for found, runs in self._forecasts.compare(cluster, operation.edit(cluster.server_status)):
                lines = what_if_lines(found, runs, _AHEAD_ROWS)
                yield lines
        except Exception as error:  # noqa: BLE001 - a preview that fails is a line on the screen, not the console's end
            lines = [((f"over the next 24 hours: {type(error).__name__}: {error}", "bad"),)]
        yield lines

    def why_not(self) -> str:
        """Why no operation is possible now; empty where one is."""
        if self.busy is not None:
            return f"still running: {self.busy.title} (:halt stops it)"
        return "" if self._host.is_unlocked() else "read-only: u unlocks"

    def unlock(self, then: Callable[[], object]) -> None:
        """Unlock for a while, if it is locked, then call ``then``; on a production server only after a yes."""
        if not self._host.is_unlocked():
            self._host.ask_to_unlock(then)

    def confirmation(self, operation: Operation) -> str:
        """What the user has to type to confirm the operation; empty for nothing."""
        return asked_for(operation, self.server, self._site)

    def run(self, operation: Operation) -> None:
        """Do a confirmed operation; the screen gets :class:`OperationProgress`, at the end :class:`OperationEnded`."""
        if self.busy is None:
            self._run(operation)

    # For the screen.

    def last_done(self) -> tuple[str, Make | None]:
        """The last operation's title, and what makes the operation that undoes it, each change only if its value was
        not changed since; or why it cannot be undone, and None.

        An operation that cannot be undone at all is dropped, so that the next undo reaches the one before it.
        """
        if self.busy is not None:
            return self.why_not(), None
        done = self.done[-1]
        if not done.can_be_undone:
            self.done.pop()
            before = f"; z again undoes {self.done[-1].operation.title}" if self.done else ""
            return f"{done.operation.title} cannot be undone{before}", None
        return done.operation.title, lambda cluster, _, __: undo_of(cluster, *done)

    def halt(self) -> str:
        """Stop the operation under way after the command that is being sent."""
        if self.busy is None:
            return "no operation is running"
        self._halted.set()
        return f"stopping {self.busy.title} after this command"

    def finish(self, message: OperationEnded) -> str:
        """Remember what can be undone; returns the sentence for the screen, with what matters most in front.

        Of an interrupted undo, the changes without a confirmed outcome stay, to be undone again.
        """
        self.busy = None
        operation, outcomes = message.operation, message.outcomes
        went_well = tuple(outcome.change for outcome in outcomes if outcome.ok)
        undone = operation.undoes
        if undone is not None:
            left = {outcome.change.target for outcome in outcomes if outcome.lost}
            self.done = [self._left_of(done, left) if done.operation is undone else done for done in self.done]
            self.done = [done for done in self.done if done.changes]
        elif went_well:
            self.done = [*self.done[-_REMEMBERED + 1 :], Done(operation, went_well, self._before)]
        undo = " · z undoes it" if went_well and undone is None and self.done[-1].can_be_undone else ""
        if operation.unmet and went_well and undone is None:
            undo = f", but {operation.unmet[0]}{undo}"
        if len(outcomes) == 1:
            return outcomes[0].text + undo
        failed = [outcome.text for outcome in outcomes if not outcome.ok]
        why = f" · {len(failed):,} failed, the first: {failed[0]}" if failed else ""
        return f"{operation.title}: {len(went_well):,} of {len(outcomes):,} done{undo}{why}"

    @staticmethod
    def _left_of(done: Done, targets: Collection[Target]) -> Done:
        """The part of an interrupted undo that has no confirmed outcome."""
        changes = (change for change in done.changes if change.target in targets and change.undo() is not None)
        return done._replace(changes=tuple(changes))

    def _run(self, operation: Operation) -> None:
        self.busy = operation
        self._before = keep_before(operation, self._host.known_cluster().server_status)
        self._halted.clear()
        reported_s = time.monotonic()

        def go_on(made: int) -> bool:
            nonlocal reported_s
            if made and time.monotonic() - reported_s > _OFTEN_S:
                reported_s = time.monotonic()
                self._host.post_message(OperationProgress(operation, made))
            return not self._halted.is_set()

        def work() -> None:
            backend = self._host.backend
            migrates = operation.changes[0].target.kind == MIGRATING_JOB
            audit = audit_log_for(self._audit, backend)
            outcomes: list[Outcome] = []
            try:
                make_all(
                    self._host.spool if migrates else backend, operation.changes, audit, self._clock, go_on, outcomes
                )
            except Exception as error:
                # What had come of the change is not known; the operation has ended all the same.
                text = f"not known what became of it: {type(error).__name__}: {error}"
                outcomes += [
                    Outcome(change, False, f"{change.title}: {text}", lost=True)
                    for change in operation.changes[len(outcomes) :]
                ]
                raise
            finally:
                self._host.post_message(OperationEnded(operation, outcomes))

        self._host.run_worker(work, thread=True, name="operation")
