"""Makes a change on the server: compare and set, read back, written to the audit file before and after.

A change is made only if the server still has the value on which the user decided.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tui.audit.audit_file import UNCONFIRMED, AuditError, AuditLog
from tui.backends.interface.backend_protocol import BackendError, NotSentError, Reply
from tui.backends.interface.commands_interface import Change


class Changed(Protocol):
    """What is changed: a server, or migration's files."""

    def read(self, kind: str, name: str) -> Mapping[str, str] | None:
        """One object's attributes, read now; None if there is no such object. Raises BackendError."""

    def run(self, argv: Sequence[str]) -> Reply:
        """Run a program. Raises BackendError if there was no reply."""


@dataclass(frozen=True)
class Outcome:
    """How a change went: ``ok`` only if the server accepted it and, unless it is a lasting one, shows the new value.
    ``text`` is a sentence for the screen. ``lost``: the server did not answer, or the change was not tried or could
    not be sent."""

    change: Change
    ok: bool
    text: str
    lost: bool = False


def make_all(
    backend: Changed,
    changes: Sequence[Change],
    audit: AuditLog,
    clock: Callable[[], float],
    go_on: Callable[[int], bool] = lambda _: True,
    outcomes: list[Outcome] | None = None,
) -> list[Outcome]:
    """Make the changes one by one; an outcome for each, added to ``outcomes`` as it is known.

    Changes after one that is lost are not tried. ``go_on`` is called before each change with the number of outcomes so
    far; if it returns False, this change and all later ones are not tried.
    """
    outcomes = [] if outcomes is None else outcomes
    for change in changes:
        if outcomes and outcomes[-1].lost:
            outcomes.append(Outcome(change, False, f"not tried: {change.title}", lost=True))
        elif not go_on(len(outcomes)):
            outcomes.append(Outcome(change, False, f"stopped before: {change.title}", lost=True))
        else:
            outcomes.append(make(backend, change, audit, clock))
    return outcomes


def make(backend: Changed, change: Change, audit: AuditLog, clock: Callable[[], float]) -> Outcome:
    """Make the change if the server still has the value before it. A failure of the server is an outcome, no error."""
    number = secrets.token_hex(4)
    try:
        found = _read(backend, change)
        why_not = ""
        if found != change.before:
            why_not = f"{change.before} when you looked, {found} now; it was changed meanwhile"
        elif change.condition is not None:
            why_not = change.condition.why_not(backend.read)
        if why_not:
            text = f"not changed: {change.title}: {why_not}, look again"
            audit.write(clock(), "refused", change.line, before=change.before, after=found, reply=text, change=number)
            return Outcome(change, False, text)
        wanted = change.after if change.after is not None else "changed"
        audit.write(clock(), "sending", change.line, before=change.before, after=wanted, reply="", change=number)
    except (BackendError, AuditError) as error:
        return Outcome(change, False, f"not changed: {error}", lost=True)
    try:
        ok, after, text, lost = _send(backend, change)
        stage = "done" if ok else UNCONFIRMED if lost else "failed"
    except NotSentError as error:
        ok, after, text, lost = False, change.before, f"not sent: {change.title}: {error}", True
        stage = "failed"
    try:
        audit.write(clock(), stage, change.line, before=change.before, after=after, reply=text, change=number)
    except AuditError as error:
        text = f"{text}, but {error}"
    return Outcome(change, ok, text, lost)


def _send(backend: Changed, change: Change) -> tuple[bool, str, str, bool]:
    """Run the command and read the value back: whether it is as wanted, the value, a sentence, whether it is lost.
    Raises :class:`NotSentError`."""
    reply = Reply(ok=False, text="")
    try:
        reply = backend.run(change.argv)
    except NotSentError:
        raise
    except BackendError as error:
        return False, "unknown", f"sent, but not confirmed: {error}", True
    try:
        found = _read(backend, change)
    except BackendError as error:
        return False, "unknown", f"sent, but not confirmed: {error}", True
    reached = found != change.before if change.after is None else found == change.after
    message = reply.text.strip() or "no reason given"
    if not reply.ok and change.after is not None and reached:
        # A server that dies while it replies may have made the change all the same.
        return True, found, f"{change.done}, verified, though {change.doer} said: {message}", False
    if not reply.ok:
        return False, found, f"{change.doer} refused: {message}", False
    if reached:
        return True, found, f"{change.done}, verified", False
    if change.lasting:
        return True, found, f"{change.title}: {change.doer} has accepted it and is not done yet, now {found}", False
    return False, found, f"{change.title}: {change.doer} took the command, but shows {found}", False


def _read(backend: Changed, change: Change) -> str:
    return change.readback.of(backend.read(change.target.kind, change.target.name))
