"""The commands of a workload manager: for each operation the program to run, what to read back, and how to undo it.

A backend has one :class:`Commands`, which holds all differences between managers in changing something. Objects are
described by the attribute texts of ``ServerStatus``, whatever the manager calls them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from hooks.pbs.server_status_type_and_attributes import Attributes
from policy.model.limit_attributes import EntityKey

_UNDO = "undo: "
SYSTEM_HOLD = "s"
"""The letter of the system's hold, by which a manager holds a job and a job waits for those that it depends on."""


class ChangeError(ValueError):
    """A change that cannot be made; the message names the value and what is allowed."""


class Target(NamedTuple):
    """The target of a change: ``kind`` is job, vnode, queue or server, ``name`` is the manager's name for it."""

    kind: str
    name: str


class Readback(Protocol):
    """Reads one value from an object's attributes as a short text. Equal texts: it did not change in between."""

    def of(self, attributes: Attributes | None) -> str:
        """The value; a fixed word if the object is gone (``attributes`` is None)."""


class Condition(Protocol):
    """What has to hold besides the value when a change is sent, of other objects than its own."""

    def why_not(self, read: Callable[[str, str], Attributes | None]) -> str:
        """Why the change is not to be sent; empty if it may be. ``read`` reads an object of a kind by its name, now."""


@dataclass(frozen=True)
class Change:
    """One command for one object.

    ``argv`` is one of the manager's programs and its arguments; ``after`` the value that the readback must show, None
    if any value other than ``before`` will do; ``back`` is the command that undoes the change, empty if there is none.
    ``undo_readback`` is what the undo reads where that is another value. ``condition`` is looked at right before.
    ``lasting`` is True where the manager replies before the value has changed, as when it deletes a job. ``title`` is
    its short name for people (``hold 13``), given by the operation that it belongs to. ``doer`` is who carries it out.
    """

    target: Target
    argv: tuple[str, ...]
    readback: Readback
    before: str
    after: str | None
    back: tuple[str, ...] = ()
    lasting: bool = False
    title: str = ""
    doer: str = "PBS"
    undo_readback: Readback | None = None
    condition: Condition | None = None

    @property
    def line(self) -> str:
        """The command as a shell line."""
        return shlex.join(self.argv)

    @property
    def done(self) -> str:
        """The message after the change: ``hold 13: done``; for an undo, the value that is restored."""
        if not self.title.startswith(_UNDO):
            return f"{self.title}: done"
        undone = f"undone: {self.title[len(_UNDO) :]}"
        return f"{undone}: back at {self.after}" if "→" in undone else undone

    def titled(self, title: str) -> Change:
        """The change with a title."""
        return replace(self, title=title)

    def undo(self) -> Change | None:
        """The change that undoes this one; None if there is none."""
        if not self.back or self.after is None:
            return None
        title = self.title.removeprefix(_UNDO) if self.title.startswith(_UNDO) else f"{_UNDO}{self.title}"
        change = replace(self, argv=self.back, before=self.after, after=self.before, back=self.argv, title=title)
        if self.undo_readback is None:
            return change
        return replace(change, readback=self.undo_readback, undo_readback=self.readback)


class Commands(Protocol):
    """The changes that a manager can make.

    Each method gets the object's name and its attributes as they are shown, and makes nothing: it answers the change.
    It raises :class:`ChangeError` for a name or text that the manager's programs cannot carry.
    """

    @property
    def unsupported(self) -> Mapping[str, str]:
        """Why the manager cannot do an operation, by the operation's name; those that it can do are not in it."""

    def check_name(self, name: str) -> None:
        """Raise :class:`ChangeError` if the manager has no objects or users of such a name."""

    def can_quote(self, text: str) -> bool:
        """Whether a vnode's comment can have this text."""

    def hold(self, job: str, texts: Attributes) -> Change:
        """Put an operator's hold on a job, which its owner cannot release."""

    @property
    def waiting_jobs_tell_dependents(self) -> bool:
        """Whether the end of a job that is deleted while it waits reaches the jobs that depend on it."""

    def release(self, job: str, texts: Attributes, but: str = "") -> Change:
        """Take all holds off a job, but those of the letters ``but``."""

    def delete(self, job: str, texts: Attributes) -> Change:
        """Delete a job."""

    def requeue(self, job: str, texts: Attributes) -> Change:
        """End a job's run and queue the job again."""

    def move(self, job: str, texts: Attributes, queue: str) -> Change:
        """Move a waiting job to another queue."""

    def set_job_priority(self, job: str, texts: Attributes, priority: int) -> Change:
        """Give a job another priority."""

    def set_walltime(self, job: str, texts: Attributes, seconds: int) -> Change:
        """Give a waiting or running job another walltime."""

    def set_comment(self, job: str, texts: Attributes, comment: str) -> Change:
        """Give a job another comment, which its owner reads. The text was checked by :meth:`can_comment`."""

    def can_comment(self, text: str) -> bool:
        """Whether a job's comment can have this text."""

    def run(self, job: str, texts: Attributes, exec_vnode: str) -> Change:
        """Start a waiting job exactly there."""

    def suspend(self, job: str, texts: Attributes) -> Change:
        """Stop a running job's processes; it keeps its memory, and releases what the manager releases."""

    def resume(self, job: str, texts: Attributes) -> Change:
        """Let a suspended job go on, at once or as soon as the scheduler has room for it."""

    def set_offline(self, vnode: str, texts: Attributes, comment: str | None = None) -> Change:
        """Let no new job start on a vnode; with a comment, if one is given."""

    def set_in_use(self, vnode: str, texts: Attributes, comment: str | None = None) -> Change:
        """Put an offline vnode back into use; with a comment, if one is given (it may be empty)."""

    def set_attribute(self, target: Target, texts: Attributes, attribute: str, value: str, missing: str) -> Change:
        """Set an attribute of a queue or the server, or remove it if the value is empty; ``missing`` is what an
        attribute that is not set means."""

    def set_limits(
        self, target: Target, texts: Attributes, resource: str, limits: Mapping[EntityKey, int | None]
    ) -> Change:
        """Set entities' own soft limits on a resource, of a queue or the server; None removes one.

        One command undoes it only where the entries are alike: all new, all altered, or all removed. Raises
        :class:`ChangeError` for others.
        """


def demand_supported(commands: Commands, operation: str) -> None:
    """Raise :class:`ChangeError` with the reason if the manager cannot do the operation of this name."""
    reason = commands.unsupported.get(operation, "")
    if reason:
        raise ChangeError(f"{operation}: {reason}")
