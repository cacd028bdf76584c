"""Changing one soft quota: the exact qmgr line, what it would do, the change itself, and the way back.

A change names the value it started from. It is made only if the server still has that value (compare and set), is read
back afterwards, and is written to the audit file before and after; its undo is the same kind of change, turned round.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from hooks.translate import translate
from policy import Changes
from policy.limits import EntityKey, Limits, show_entity
from policy.preview import Preview, preview
from tui.core.audit import AuditError, AuditLog
from tui.core.facts import SOFT_LIMIT, limit_entry
from tui.core.source import Source, SourceError
from tui.core.world import World

MOST_CORES = 10**9
_PLAIN_NAME = re.compile(r"[\w.@+-]+")


class QuotaError(ValueError):
    """A quota that cannot be set; the message names the value and what is allowed."""


@dataclass(frozen=True)
class QuotaChange:
    """Set one entity's soft quota in one queue from ``before`` to ``after``; None stands for no entry of its own."""

    queue: str
    entity: EntityKey
    before: int | None
    after: int | None
    resource: str = "ncpus"

    @property
    def line(self) -> str:
        """The line for qmgr."""
        attribute = f"set queue {self.queue} {SOFT_LIMIT}{self.resource}"
        if self.after is None:
            return f"{attribute} -= {_entry(self.entity, self.before or 0)}"
        return f"{attribute} += {_entry(self.entity, self.after)}"

    @property
    def title(self) -> str:
        """``carol 512 → 1,024``."""
        return f"{self.entity[1]} {show_quota(self.before)} → {show_quota(self.after)}"

    def undo(self) -> QuotaChange:
        """The change that takes this one back."""
        return replace(self, before=self.after, after=self.before)


def _entry(entity: EntityKey, limit: int) -> str:
    return f"[{show_entity(entity)}={limit}]"


def show_quota(quota: int | None) -> str:
    """A quota as it is read aloud."""
    return "none" if quota is None else f"{quota:,}"


def parse_quota(text: str) -> int | None:
    """The number of cores that was typed, or None for ``none``. Raises :class:`QuotaError`."""
    stripped = text.strip().replace(",", "").replace("_", "")
    if stripped.lower() == "none":
        return None
    if not (stripped.isascii() and stripped.isdigit()) or int(stripped) > MOST_CORES:
        raise QuotaError(f"quota {text.strip()!r}: allowed is a whole number from 0 to {MOST_CORES:,}, or none")
    return int(stripped)


def check_entity(kind: str, name: str) -> EntityKey:
    """The entity for a name that was typed. Raises :class:`QuotaError` for one that qmgr could not take."""
    if not _PLAIN_NAME.fullmatch(name):
        raise QuotaError(f"{name!r} is no name that qmgr takes: allowed are letters, digits and . _ @ + -")
    return (kind, name)


def check_queue(world: World, queue: str) -> str:
    """The queue's name, if the server has it. Raises :class:`QuotaError`."""
    if queue not in world.picture.queues:
        raise QuotaError(f"queue {queue!r}: the server has {', '.join(sorted(world.picture.queues)) or 'no queues'}")
    return queue


def change_of(world: World, queue: str, entity: EntityKey, after: int | None) -> QuotaChange:
    """The change from what the world shows to ``after``. Raises :class:`QuotaError` where nothing would change."""
    attributes = world.picture.queues[check_queue(world, queue)]
    check_entity(*entity)
    before = limit_entry(attributes, world.counted, entity)
    if before == after:
        raise QuotaError(f"{entity[1]} already has {show_quota(after)} in {queue}")
    return QuotaChange(queue, entity, before, after, world.counted)


def foresee(world: World, change: QuotaChange) -> Preview:
    """What the change would do to the jobs now running and waiting: the same decision on the changed snapshot.

    Raises :class:`QuotaError` where the queue is not one that pbsteer decides about.
    """
    # A snapshot of its own, since versions of one snapshot belong to one thread, and this may take a while in another.
    snapshot = translate(world.picture, world.settings).snapshot
    queue = snapshot.queues.get(change.queue)
    if queue is None:
        raise QuotaError(f"queue {change.queue!r} is not one that pbsteer decides about: its quotas start nothing")
    changes = Changes(snapshot.time_s, queues=(replace(queue, quotas=_changed(queue.quotas, change)),))
    return preview(snapshot, changes, world.ledger, world.settings)


def _changed(quotas: Limits, change: QuotaChange) -> Limits:
    if change.after is None:
        return quotas.without_entry(change.entity)
    return quotas.with_entry(change.entity, change.after)


@dataclass(frozen=True)
class Outcome:
    """How a change went: ``ok`` only where the server took it and shows it. ``text`` is a sentence for the screen."""

    change: QuotaChange
    ok: bool
    text: str


def make(source: Source, change: QuotaChange, audit: AuditLog, clock: Callable[[], float]) -> Outcome:
    """Make the change on the server, if nobody else changed the value meanwhile. A server's failure is an outcome."""
    before = show_quota(change.before)
    try:
        found = _read(source, change)
        if found != change.before:
            text = (
                f"not changed: {change.entity[1]} had {before} in {change.queue} when you looked"
                f" and has {show_quota(found)} now; someone else changed it, look again"
            )
            audit.write(clock(), "refused", change.line, before=before, after=show_quota(found), reply=text)
            return Outcome(change, False, text)
        audit.write(clock(), "sending", change.line, before=before, after=show_quota(change.after), reply="")
    except (SourceError, AuditError) as error:
        return Outcome(change, False, f"not changed: {error}")
    ok, after, text = _send(source, change)
    try:
        audit.write(clock(), "done" if ok else "failed", change.line, before=before, after=after, reply=text)
    except AuditError as error:
        text = f"{text}, but {error}"
    return Outcome(change, ok, text)


def _send(source: Source, change: QuotaChange) -> tuple[bool, str, str]:
    """Send the line and read the value again: whether it is as wanted, what it is, and a sentence."""
    try:
        reply = source.write(change.line)
        found = _read(source, change)
    except SourceError as error:
        return False, "unknown", f"sent, but not confirmed: {error}"
    shown = show_quota(found)
    if not reply.ok:
        return False, shown, f"PBS refused: {reply.text.strip() or 'no reason given'}"
    if found != change.after:
        return False, shown, f"PBS took the line, but shows {shown} for {change.entity[1]} in {change.queue}"
    return True, shown, f"{change.title} in {change.queue}: done, read back"


def _read(source: Source, change: QuotaChange) -> int | None:
    return limit_entry(source.read_queue(change.queue), change.resource, change.entity)
