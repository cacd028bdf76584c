"""The comments of a pass: why each job that it does not start waits, few enough not to delay the server.

Most go to the jobs that are next in the order, the rest to the jobs behind them in rotation; times in them are moments,
so a comment that is still true is not written again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice

from hooks.pbs.job_attributes.job_comment_format import OWN_COMMENT, STAMP, make_comment, show_moment, without_counts
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.explain.queue_position import InLine
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.printable_text import printable
from policy.model.priority_class import BASE
from policy.plan.plan_types import Plan
from policy.reasons.reason import Reason
from policy.settings.site_settings import Settings

_COUNTS_AGE_S = 120
_LENGTH = 300
_ROTATED_SHARE = 4
"""One comment of so many goes to a job that is not next, so that each job gets its own in the end, or to counts."""

Waiting = Sequence[tuple[Job, Reason]]


def find_comments(
    plan: Plan, server_status: ServerStatus, queues: Collection[str], settings: Settings, pause: str = ""
) -> Iterator[tuple[str, str]]:
    """Job and comment, for at most ``schedule.max_comments`` of the jobs in these queues that are not started and whose
    comment says something else, or has old counts. In a ``pause``, which is named so, the plan's starts wait too."""
    schedule = settings.schedule
    writer = _Writer(plan, server_status, settings, pause)
    waiting = _in_order(plan, queues, pause)
    in_rotation = -(-schedule.max_comments // _ROTATED_SHARE)
    first = schedule.max_comments - in_rotation
    behind = written = 0
    for job_id, comment, position in islice(writer.find_untrue(waiting), first):
        behind = position + 1
        written += 1
        yield job_id, comment
    left = in_rotation
    if written == first:
        rest = waiting[behind:]
        offset = int(plan.time_s // schedule.interval_s) * in_rotation % max(1, len(rest))
        for job_id, comment, _ in islice(writer.find_untrue([*rest[offset:], *rest[:offset]]), in_rotation):
            left -= 1
            yield job_id, comment
    yield from islice(writer.find_old(), left)


def _in_order(plan: Plan, queues: Collection[str], pause: str) -> Waiting:
    """The waiting jobs in the order of a pass: those with a promise, then by class, then as PBS has them
    (docs/policies.md). Jobs that only the ``pause`` keeps from starting come first."""
    reasons, promises, classes = plan.reasons(), plan.ledger.promises, plan.classes or {}
    entries = queue_line(plan.started.cluster(), plan.time_s).entries
    jobs = [entry[5] for entry in entries if entry[5].queue in queues and entry[5].id in reasons]
    jobs.sort(key=lambda job: (job.id not in promises, -classes.get(job.id, BASE)))
    kept = {start.job.id: start.job for start in plan.starts if pause and start.job.queue in queues}
    left_undone = Reason("left-undone", (("why", pause),))
    return [
        *((job, left_undone) for job in kept.values()),
        *((job, reasons[job.id][1]) for job in jobs if job.id not in kept),
    ]


class _Writer:
    """Makes the comments of one pass, and collects those in which only counts differ."""

    def __init__(self, plan: Plan, server_status: ServerStatus, settings: Settings, pause: str) -> None:
        self._now_s = plan.time_s
        self._jobs = server_status.jobs
        self._in_line = InLine(plan, settings)
        self._pause = pause
        self._moment = partial(show_moment, now_s=plan.time_s)
        self._moved: list[tuple[float, str, str]] = []

    def find_untrue(self, waiting: Waiting) -> Iterator[tuple[str, str, int]]:
        """Job, comment and position of those whose comment no longer holds."""
        for position, (job, reason) in enumerate(waiting):
            sentence = self._sentence(job, reason)
            own = OWN_COMMENT.fullmatch(self._jobs.get(job.id, {}).get("comment", ""))
            if own is not None and own.group(1) and own.group(2) == sentence:
                continue
            comment = make_comment(sentence, self._now_s)
            if own is not None and own.group(1) and without_counts(own.group(2)) == without_counts(sentence):
                self._moved.append((self._age_s(own.group(3)), job.id, comment))
                continue
            yield job.id, comment, position

    def find_old(self) -> Iterator[tuple[str, str]]:
        """Job and comment of those in which only counts differ, the oldest first; recent ones are left out."""
        self._moved.sort(key=lambda moved: -moved[0])
        return ((job_id, comment) for age_s, job_id, comment in self._moved if age_s >= _COUNTS_AGE_S)

    def _sentence(self, job: Job, reason: Reason) -> str:
        sentence = reason.sentence(job, self._now_s, self._in_line.numbers(job.id), self._moment)
        if self._pause and reason.code != "left-undone":
            sentence = f"{self._pause}; {sentence}"
        return printable(sentence[:_LENGTH])

    def _age_s(self, stamp: str) -> float:
        """Seconds since the comment was written; infinite if its time cannot be read or is in the future."""
        try:
            written_s = time.mktime(time.strptime(stamp, STAMP))
        except (ValueError, OverflowError):
            return float("inf")
        return self._now_s - written_s if written_s <= self._now_s else float("inf")
