"""The reason of each waiting job as the pass decided it, for the console, whose own plan may be newer and differ.

Jobs with the same text share one entry; beyond 2,000 texts a job has only the code of its reason. A text has moments
instead of spans, and no place in line, since it is read later.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from hooks.pbs.job_attributes.job_comment_format import show_moment
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.printable_text import printable
from policy.plan.plan_types import Plan

MOST_TEXTS = 2000
LONGEST_TEXT = 300
_ACTED = ("advise", "drive")
_OF_ESTIMATE = frozenset({"backfill-window", "into-window"})
"""The reasons whose sentence names of the job only its estimate."""


def describe_reasons(plan: Plan, modes: Mapping[str, str]) -> list[dict[str, Any]]:
    """The reasons of the jobs that wait in queues in ``advise`` or ``drive``, one line for each text; the time of the
    pass is in each."""
    queues = frozenset(queue for queue, mode in modes.items() if mode in _ACTED)
    moment = partial(show_moment, now_s=plan.time_s)
    jobs_of: dict[tuple[str, str], list[str]] = {}
    # By what a sentence is made of: a reason's numbers, but not what else was tried, and the kind of job.
    known: dict[object, dict[object, str]] = {}
    written = 0
    for reason, jobs in plan.waits.by_reason().items():
        texts = known.setdefault((reason.code, reason.numbers), {})
        is_counted = any(name == "counted" for name, _ in reason.numbers)
        for job in jobs:
            if job.queue not in queues:
                continue
            kind = _kind_of(job, reason.code, is_counted)
            text = texts.get(kind)
            if text is None:
                text = ""
                if written < MOST_TEXTS:
                    written += 1
                    text = printable(reason.sentence(job, plan.time_s, moment=moment)[:LONGEST_TEXT])
                texts[kind] = text
            jobs_of.setdefault((reason.code, text), []).append(job.id)
    return [{"time_s": plan.time_s, "code": code, "text": text, "jobs": ids} for (code, text), ids in jobs_of.items()]


def _kind_of(job: Job, code: str, is_counted: bool) -> object:
    """Jobs of one kind have the same sentence for a reason: all that it may say of its job."""
    if code in _OF_ESTIMATE:
        return job.estimate_s, job.saved_s
    request = job.request
    return (
        request if is_counted else (request.cores, request.exclusive, request.only_cores, request.group),
        job.rank,
        job.layout,
    )
