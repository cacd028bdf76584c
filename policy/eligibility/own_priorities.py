"""A user's own priorities: they order that user's jobs of one queue, and put none before another user's.

A job waits behind its owner's jobs of a higher own priority, wherever these stand by their age; no job comes earlier
than by its age. So whoever raises a job's priority pays with the owner's other jobs, never with other users'.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.state.cluster_index import Entry, World

_Place = tuple[float, int, str]
"""Where a job stands among those of one level: when it came, its number, its id."""


def queue_order(world: World, now_s: float) -> Sequence[Entry]:
    """The waiting jobs in the order of their turns, classes and promises apart."""
    return in_own_order(world.order, now_s) if world.has_own_priorities else world.order


def in_own_order(entries: Sequence[Entry], now_s: float) -> list[Entry]:
    """The entries with each user's jobs of one queue and level in the order of their own priorities.

    A job that could not start, held or before its time, keeps none of its owner's waiting.
    """
    groups: dict[tuple[int, str, str], list[Entry]] = {}
    for entry in entries:
        job = entry[5]
        groups.setdefault((entry[0], job.queue, job.user), []).append(entry)
    turns: dict[str, _Place] = {}
    for group in groups.values():
        if len(group) < 2 or len({entry[5].own_priority for entry in group}) < 2:
            continue
        last: _Place | None = None
        behind: _Place | None = None
        level: int | None = None
        for entry in sorted(group, key=lambda entry: -entry[5].own_priority):
            job = entry[5]
            if job.own_priority != level:
                level, behind = job.own_priority, last
            place = (entry[1], entry[2], entry[3])
            if behind is not None and behind > place:
                turns[job.id] = behind
            if not job.blocked and (job.not_before_s is None or job.not_before_s <= now_s):
                last = place if last is None else max(last, place)
    if not turns:
        return list(entries)

    def turn(entry: Entry) -> tuple[int, _Place, bool, int, _Place]:
        place = (entry[1], entry[2], entry[3])
        behind = turns.get(entry[3])
        return (entry[0], behind or place, behind is not None, -entry[5].own_priority, place)

    return sorted(entries, key=turn)
