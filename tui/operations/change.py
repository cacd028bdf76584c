"""A change to the server: compare and set, read back, written to the audit file before and after.

A change names its target, the exact command, the value before and after, and the command that undoes it, if any. It is
made only if the server still has the value on which the user decided.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui.audit.log import UNCONFIRMED, AuditError, AuditLog
from tui.backends.base import Backend, BackendError, Reply
from tui.operations.readback import Readback, Target


class ChangeError(ValueError):
    """A change that cannot be made; the message names the value and what is allowed."""


@dataclass(frozen=True)
class Change:
    """One command for one object.

    ``title`` is its short name for people (``hold 13``); ``argv`` one of PBS's programs and its arguments; ``after``
    the value that the readback must show, None if any value other than ``before`` will do; ``lasting`` is True where
    PBS replies before the value has changed, as when it deletes a job; ``back`` is the command that undoes the change,
    empty if there is none.
    """

    target: Target
    title: str
    argv: tuple[str, ...]
    readback: Readback
    before: str
    after: str | None
    back: tuple[str, ...] = ()
    lasting: bool = False

    @property
    def line(self) -> str:
        """The command as a shell line."""
        return shlex.join(self.argv)

    def undo(self) -> Change | None:
        """The change that undoes this one; None if there is none."""
        if not self.back or self.after is None:
            return None
        title = self.title.removeprefix("undo: ") if self.title.startswith("undo: ") else f"undo: {self.title}"
        return Change(self.target, title, self.back, self.readback, self.after, self.before, self.argv, self.lasting)


@dataclass(frozen=True)
class Outcome:
    """How a change went: ``ok`` only if the server accepted it and, unless it is a lasting one, shows the new value.
    ``text`` is a sentence for the screen. ``lost``: the server did not answer, or the change was not tried."""

    change: Change
    ok: bool
    text: str
    lost: bool = False


def make_all(
    backend: Backend,
    changes: Sequence[Change],
    audit: AuditLog,
    clock: Callable[[], float],
    go_on: Callable[[int], bool] = lambda _: True,
) -> list[Outcome]:
    """Make the changes one by one; an outcome for each.

    Changes after one that is lost are not tried. ``go_on`` is called before each change with the number of outcomes so
    far; if it returns False, this change and all later ones are not tried.
    """
    outcomes: list[Outcome] = []
    for change in changes:
        if outcomes and outcomes[-1].lost:
            outcomes.append(Outcome(change, False, f"not tried: {change.title}", lost=True))
        elif not go_on(len(outcomes)):
            outcomes.append(Outcome(change, False, f"stopped before: {change.title}", lost=True))
        else:
            outcomes.append(make(backend, change, audit, clock))
    return outcomes


def make(backend: Backend, change: Change, audit: AuditLog, clock: Callable[[], float]) -> Outcome:
    """Make the change if the server still has the value before it. A failure of the server is an outcome, no error."""
    number = secrets.token_hex(4)
    try:
        found = _read(backend, change)
        if found != change.before:
            text = (
                f"not changed: {change.title}: {change.before} when you looked, {found} now;"
                " it was changed meanwhile, look again"
            )
            audit.write(clock(), "refused", change.line, before=change.before, after=found, reply=text, change=number)
            return Outcome(change, False, text)
        wanted = change.after if change.after is not None else "changed"
        audit.write(clock(), "sending", change.line, before=change.before, after=wanted, reply="", change=number)
    except (BackendError, AuditError) as error:
        return Outcome(change, False, f"not changed: {error}", lost=True)
    ok, after, text, lost = _send(backend, change)
    stage = "done" if ok else UNCONFIRMED if lost else "failed"
    try:
        audit.write(clock(), stage, change.line, before=change.before, after=after, reply=text, change=number)
    except AuditError as error:
        text = f"{text}, but {error}"
    return Outcome(change, ok, text, lost)


def _send(backend: Backend, change: Change) -> tuple[bool, str, str, bool]:
    """Run the command and read the value back: whether it is as wanted, the value, a sentence, whether it is lost."""
    reply = Reply(ok=False, text="")
    try:
        reply = backend.run(change.argv)
        found = _read(backend, change)
    except BackendError as error:
        return False, "unknown", f"sent, but not confirmed: {error}", True
    reached = found != change.before if change.after is None else found == change.after
    said = reply.text.strip() or "no reason given"
    if not reply.ok and change.after is not None and reached:
        # A server that dies while it replies may have made the change all the same.
        return True, found, f"{change.title}: done, read back, though PBS said: {said}", False
    if not reply.ok:
        return False, found, f"PBS refused: {said}", False
    if reached:
        return True, found, f"{change.title}: done, read back", False
    if change.lasting:
        return True, found, f"{change.title}: PBS took it and is at it, now {found}", False
    return False, found, f"{change.title}: PBS took the command, but shows {found}", False


def _read(backend: Backend, change: Change) -> str:
    return change.readback.of(backend.read(change.target.kind, change.target.name))
