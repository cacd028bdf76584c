"""A change to the server, made safely: compare and set, read back, written to the audit file before and after.

A change says what it is made to, the exact command, the value it starts from and the one it leads to, and the command
that takes it back where there is one. It is made only if the server still has the value that somebody looked at.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui.audit.log import UNCONFIRMED, AuditError, AuditLog
from tui.backends.base import Reply, Source, SourceError
from tui.operations.readback import Facet, Target


class ChangeError(ValueError):
    """A change that cannot be made; the message names the value and what is allowed."""


@dataclass(frozen=True)
class Change:
    """One command for one object.

    ``title`` is what a person calls it (``hold 13``); ``argv`` one of PBS's programs and its arguments; ``after`` the
    value to be read back, None where any other than ``before`` will do; ``lasting`` is True where PBS answers before
    the value has changed, as for a job that is deleted; ``back`` is the command that takes it back, empty where none
    does.
    """

    target: Target
    title: str
    argv: tuple[str, ...]
    facet: Facet
    before: str
    after: str | None
    back: tuple[str, ...] = ()
    lasting: bool = False

    @property
    def line(self) -> str:
        """The command as it could be typed."""
        return shlex.join(self.argv)

    def undo(self) -> Change | None:
        """The change that takes this one back; None where there is none."""
        if not self.back or self.after is None:
            return None
        title = self.title.removeprefix("undo: ") if self.title.startswith("undo: ") else f"undo: {self.title}"
        return Change(self.target, title, self.back, self.facet, self.after, self.before, self.argv, self.lasting)


@dataclass(frozen=True)
class Outcome:
    """How a change went: ``ok`` only where the server took it and, but for a lasting one, shows it. ``text`` is a
    sentence for the screen. ``lost`` is True where nobody knows, since the server did not answer, or nobody tried."""

    change: Change
    ok: bool
    text: str
    lost: bool = False


def make_all(
    source: Source,
    changes: Sequence[Change],
    audit: AuditLog,
    clock: Callable[[], float],
    go_on: Callable[[int], bool] = lambda _: True,
) -> list[Outcome]:
    """Make the changes one by one, each with its outcome.

    What follows a change that the server left unanswered is not tried, nor what follows ``go_on`` saying no; it is
    asked before each change, with the number of those that were made.
    """
    outcomes: list[Outcome] = []
    for change in changes:
        if outcomes and outcomes[-1].lost:
            outcomes.append(Outcome(change, False, f"not tried: {change.title}", lost=True))
        elif not go_on(len(outcomes)):
            outcomes.append(Outcome(change, False, f"stopped before: {change.title}", lost=True))
        else:
            outcomes.append(make(source, change, audit, clock))
    return outcomes


def make(source: Source, change: Change, audit: AuditLog, clock: Callable[[], float]) -> Outcome:
    """Make the change on the server, if nobody else changed the value meanwhile. A server's failure is an outcome."""
    number = secrets.token_hex(4)
    try:
        found = _read(source, change)
        if found != change.before:
            text = (
                f"not changed: {change.title}: {change.before} when you looked, {found} now;"
                " it was changed meanwhile, look again"
            )
            audit.write(clock(), "refused", change.line, before=change.before, after=found, reply=text, change=number)
            return Outcome(change, False, text)
        wanted = change.after if change.after is not None else "changed"
        audit.write(clock(), "sending", change.line, before=change.before, after=wanted, reply="", change=number)
    except (SourceError, AuditError) as error:
        return Outcome(change, False, f"not changed: {error}", lost=True)
    ok, after, text, lost = _send(source, change)
    stage = "done" if ok else UNCONFIRMED if lost else "failed"
    try:
        audit.write(clock(), stage, change.line, before=change.before, after=after, reply=text, change=number)
    except AuditError as error:
        text = f"{text}, but {error}"
    return Outcome(change, ok, text, lost)


def _send(source: Source, change: Change) -> tuple[bool, str, str, bool]:
    """Run the command and read the value again: whether it is as wanted, what it is, a sentence, whether it is lost."""
    reply = Reply(ok=False, text="")
    try:
        reply = source.run(change.argv)
        found = _read(source, change)
    except SourceError as error:
        return False, "unknown", f"sent, but not confirmed: {error}", True
    reached = found != change.before if change.after is None else found == change.after
    said = reply.text.strip() or "no reason given"
    if not reply.ok and change.after is not None and reached:
        # A server that ends while it answers may have done it all the same.
        return True, found, f"{change.title}: done, read back, though PBS said: {said}", False
    if not reply.ok:
        return False, found, f"PBS refused: {said}", False
    if reached:
        return True, found, f"{change.title}: done, read back", False
    if change.lasting:
        return True, found, f"{change.title}: PBS took it and is at it, now {found}", False
    return False, found, f"{change.title}: PBS took the command, but shows {found}", False


def _read(source: Source, change: Change) -> str:
    return change.facet.of(source.read(change.target.kind, change.target.name))
