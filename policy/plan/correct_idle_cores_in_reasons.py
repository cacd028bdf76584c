"""Corrects the idle cores in the reasons of waiting jobs to what the pass leaves over.

A reason has the number at the time of the attempt; jobs that are attempted later may start on some of those cores.
"""

from __future__ import annotations

from collections.abc import Mapping

from policy.backfill.queues_sharing_vnodes import Region
from policy.model.jobs_runs_vnodes_queues import Job
from policy.reasons.reason import Reason

_NAMES_IDLE = frozenset({"too-few-idle", "fragmented", "topjob-ineligible"})
"""Reasons whose number of idle cores is corrected. A head's is not: it counts what was idle before others backfilled
beside it."""


def with_idle_left(waits: Mapping[Reason, list[Job]], regions: Mapping[str, Region]) -> dict[Reason, list[Job]]:
    """The same jobs, reason by reason, with the idle cores of each job's region where the reason names idle cores. The
    number only falls: more idle cores than at the attempt would not explain why the job waits."""
    left: dict[Reason, list[Job]] = {}
    each_region = {id(region): region for region in regions.values()}.values()
    fewest = min([region.idle for region in each_region], default=0)
    for reason, jobs in waits.items():
        named = dict(reason.numbers).get("idle") if reason.code in _NAMES_IDLE else None
        if not isinstance(named, int) or fewest >= named:
            left.setdefault(reason, []).extend(jobs)
            continue
        if reason.code == "too-few-idle" and len(each_region) == 1:
            left.setdefault(with_idle(reason, fewest), []).extend(jobs)
            continue
        lists: dict[tuple[int, bool], list[Job]] = {}
        for job in jobs:
            idle = regions[job.queue].idle
            key = (min(idle, named), reason.code == "fragmented" and job.request.cores > idle)
            if key not in lists:
                code = "too-few-idle" if key[1] else reason.code
                lists[key] = left.setdefault(with_idle(reason, key[0])._replace(code=code), [])
            lists[key].append(job)
    return left


def with_idle(reason: Reason, idle: int) -> Reason:
    """The same reason with this number of idle cores, if it names any."""
    numbers = tuple([(name, idle if name == "idle" else number) for name, number in reason.numbers])
    return Reason(reason.code, numbers, reason.tried)
