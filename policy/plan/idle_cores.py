"""Why jobs wait, with the idle cores that the pass has left: what starts later in the pass takes some of those that a
job was told of before.

A reason counts what was idle when the job had its turn. Jobs are looked at in order, so that later ones may start.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.backfill.regions import Region
from policy.model.cluster import Job
from policy.reasons.reason import Reason

_TELL_IDLE = frozenset({"too-few-idle", "fragmented"})
"""A head is told what was idle before others were let in beside it."""


def with_idle_left(waits: Mapping[Reason, list[Job]], regions: Mapping[str, Region]) -> dict[Reason, list[Job]]:
    """The same jobs, reason by reason, where these tell idle cores with those of the job's region. More than a job was
    told of are no reason why it waits: where some came free meanwhile its reason stays."""
    left: dict[Reason, list[Job]] = {}
    for reason, jobs in waits.items():
        told = dict(reason.numbers).get("idle") if reason.code in _TELL_IDLE else None
        if not isinstance(told, int) or all(region.idle >= told for region in regions.values()):
            left.setdefault(reason, []).extend(jobs)
            continue
        lists: dict[tuple[int, bool], list[Job]] = {}
        for job in jobs:
            idle = regions[job.queue].idle
            key = (min(idle, told), reason.code == "fragmented" and job.request.cores > idle)
            if key not in lists:
                code = "too-few-idle" if key[1] else reason.code
                lists[key] = left.setdefault(with_idle(reason, key[0])._replace(code=code), [])
            lists[key].append(job)
    return left


def with_idle(reason: Reason, idle: int) -> Reason:
    """The same reason with so many idle cores, where it tells any."""
    return reason._replace(numbers=tuple((name, idle if name == "idle" else number) for name, number in reason.numbers))
