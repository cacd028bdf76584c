"""Changing one soft quota or one priority of a queue: read what was typed, and make the change and its preview of it.

Quotas live in PBS, on the queue, as ``max_run_res_soft.ncpus``; priorities beside them on a resource that no job asks
for (docs/policies.md, P1 and P2). One entry is set at a time; the others of the queue are left alone.
"""

from __future__ import annotations

import re
from functools import partial

from hooks.picture import Picture
from hooks.resources import PRIORITY
from policy.limits import EntityKey, show_entity, show_limits
from tui.core.change import Change, ChangeError
from tui.core.deeds import Deed
from tui.core.edits import edit_queue
from tui.core.facets import Entry, Target
from tui.core.facts import SOFT_LIMIT, limit_entry, soft_limits
from tui.core.overcommitted import overcommitted
from tui.core.world import World

MOST_CORES = 10**9
_PLAIN_NAME = re.compile(r"[\w.@+-]+")


def show_quota(quota: int | None) -> str:
    """A quota as it is read aloud."""
    return "none" if quota is None else f"{quota:,}"


def parse_quota(text: str, what: str = "quota") -> int | None:
    """The number of cores, or the priority, that was typed, or None for ``none``. Raises :class:`ChangeError`."""
    stripped = text.strip().replace(",", "").replace("_", "")
    if stripped.lower() == "none":
        return None
    if not (stripped.isascii() and stripped.isdigit()) or int(stripped) > MOST_CORES:
        raise ChangeError(f"{what} {text.strip()!r}: allowed is a whole number from 0 to {MOST_CORES:,}, or none")
    return int(stripped)


def check_entity(kind: str, name: str) -> EntityKey:
    """The entity for a name that was typed. Raises :class:`ChangeError` for one that qmgr could not take."""
    if not _PLAIN_NAME.fullmatch(name):
        raise ChangeError(f"{name!r} is no name that qmgr takes: allowed are letters, digits and . _ @ + -")
    return (kind, name)


def check_queue(world: World, queue: str) -> str:
    """The queue's name, if the server has it. Raises :class:`ChangeError`."""
    if queue not in world.picture.queues:
        raise ChangeError(f"queue {queue!r}: the server has {', '.join(sorted(world.picture.queues)) or 'no queues'}")
    return queue


def change_of(world: World, queue: str, entity: EntityKey, after: int | None, resource: str = "") -> Deed:
    """The change to ``after``, None for no entry, from what the world shows; of the counted resource unless said.

    Raises :class:`ChangeError` where nothing would change.
    """
    resource = resource or world.counted
    attributes = world.picture.queues[check_queue(world, queue)]
    check_entity(*entity)
    before = limit_entry(attributes, resource, entity)
    what = "priority " if resource == PRIORITY else ""
    if before == after:
        raise ChangeError(f"{entity[1]} already has {what}{show_quota(after)} in {queue}")
    change = Change(
        Target("queue", queue),
        f"{what}{entity[1]} {show_quota(before)} → {show_quota(after)} in {queue}",
        _line(queue, resource, entity, before, after),
        Entry(resource, entity),
        show_quota(before),
        show_quota(after),
        _line(queue, resource, entity, after, before),
    )
    edit = partial(_edit, queue=queue, resource=resource, entity=entity, after=after)
    notes = overcommitted(edit(world.picture), queue, resource) if resource == world.counted else []
    return Deed(change.title, (change,), edit, notes=tuple(notes))


def _line(queue: str, resource: str, entity: EntityKey, before: int | None, after: int | None) -> tuple[str, ...]:
    attribute = f"set queue {queue} {SOFT_LIMIT}{resource}"
    if after is None:
        return ("qmgr", "-c", f"{attribute} -= [{show_entity(entity)}={before or 0}]")
    return ("qmgr", "-c", f"{attribute} += [{show_entity(entity)}={after}]")


def _edit(picture: Picture, queue: str, resource: str, entity: EntityKey, after: int | None) -> Picture:
    limits = soft_limits(picture.queues[queue], resource)
    changed = limits.without_entry(entity) if after is None else limits.with_entry(entity, after)
    return edit_queue(picture, queue, {SOFT_LIMIT + resource: show_limits(changed)})
