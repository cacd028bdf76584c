"""Users' own priorities (``qsub -p``): they order one user's jobs in one queue, and put no job before another user's.

A job waits behind all jobs of its owner with a higher own priority, and never comes earlier than by its age.
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.state.cluster_index import Entry

_Place = tuple[float, int, str]
"""Where a job stands among those of one level: when it entered its queue, its number, its id."""


def in_own_order(entries: Sequence[Entry], now_s: float) -> list[Entry]:
    """The entries, with each user's jobs of one queue and level in the order of their own priorities.

    A job that could not start (held, or before its start time) delays none of its owner's jobs.
    """
    groups: dict[tuple[int, str, str], list[Entry]] = {}
    for entry in entries:
        job = entry[5]
        groups.setdefault((entry[0], job.queue, job.user), []).append(entry)
    behind_of: dict[str, _Place] = {}
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
                behind_of[job.id] = behind
            if not job.blocked and (job.not_before_s is None or job.not_before_s <= now_s):
                last = place if last is None else max(last, place)
    if not behind_of:
        return list(entries)

    def place_of(entry: Entry) -> tuple[int, _Place, bool, int, _Place]:
        place = (entry[1], entry[2], entry[3])
        behind = behind_of.get(entry[3])
        return (entry[0], behind or place, behind is not None, -entry[5].own_priority, place)

    return sorted(entries, key=place_of)
