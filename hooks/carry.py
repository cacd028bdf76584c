"""A plan carried out: victims requeued, jobs started, reasons written into comments, within a budget of time.

Only for the queues that the caller names. Each request stands alone: one that the server refuses is recorded, and the
rest goes on. What the budget leaves undone is not forgotten, since the next pass decides anew on what it finds.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Callable, NamedTuple

from hooks.ifl import Connection, IflError
from hooks.jobs import parent_of
from hooks.picture import Picture
from hooks.requeue import Requeues
from policy.plan import Plan, Preempt, Start
from policy.striping import cut, total_pieces

_OWN_COMMENT = re.compile(r"pbsteer ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}): (.*)", re.DOTALL)
_STAMP = "%Y-%m-%d %H:%M"
_COMMENT_AGE_S = 900
_COMMENT_LENGTH = 300
_NUMBERS = re.compile(r"[0-9][0-9,.]*( (s|min|h|d)\b)?")


class Effects(NamedTuple):
    """What came of a plan. ``failures`` are sentences; ``put_off`` counts what there was no time for."""

    queues: Collection[str] = ()
    started: Sequence[str] = ()
    requeued: Sequence[str] = ()
    comments: int = 0
    failures: Sequence[str] = ()
    put_off: int = 0


class Budget:
    """Seconds until a deadline."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def left_s(self) -> float:
        """Seconds left; 0 or less when the time is up."""
        return self._deadline - time.monotonic()


def carry_out(
    plan: Plan,
    picture: Picture,
    queues: Collection[str],
    *,
    pbs_ifl: Any,
    connection: Connection,
    budget: Budget,
    release: Callable[[], None],
) -> Effects:
    """Carry the plan out for the jobs of ``queues``: victims first, since letting go takes them longest, comments last.

    ``release`` is what a child process made here has to let go of.
    """
    if not queues:
        return Effects()
    failures: list[str] = []
    put_off = 0
    victims = [preempt.id for preempt in plan.preempts if _may_preempt(preempt, picture, queues)]
    requeues = Requeues(pbs_ifl, victims, release) if victims else None
    started: list[str] = []
    reshaped: set[str] = set()
    for start in plan.starts:
        if start.job.queue not in queues:
            continue
        if budget.left_s() <= 0:
            put_off += 1
            continue
        try:
            select = find_new_select(start)
            if select and start.job.id not in reshaped:
                connection.set_select(start.job.id, select)
                reshaped.add(start.job.id)
            connection.start(start.id, start.placement.exec_vnode())
            started.append(start.id)
        except IflError as error:
            failures.append(str(error))
    comments = 0
    for job_id, comment in _find_comments(plan, picture, queues):
        if budget.left_s() <= 0:
            put_off += 1
            continue
        try:
            connection.set_comment(job_id, comment)
            comments += 1
        except IflError as error:
            failures.append(str(error))
    requeued = list(victims)
    if requeues is not None:
        requeues.wait(budget.left_s())
        failures += requeues.failures.values()
        requeued = [victim for victim in victims if victim not in requeues.failures]
    return Effects(tuple(queues), started, requeued, comments, failures, put_off)


def find_new_select(start: Start) -> str:
    """The ``select`` to set before the start: the job's chunks as they were cut for it (docs/policies.md, P5).

    Empty where the chunks are placed as they were asked for.
    """
    pieces = sum(spot.chunks for spot in start.placement.spots)
    request = cut(start.job.request)
    if request is None or pieces == total_pieces(start.job.request):
        return ""
    return request.select


def _may_preempt(preempt: Preempt, picture: Picture, queues: Collection[str]) -> bool:
    """Whether both the victim's and the beneficiary's queue are ours to act for."""
    beneficiary = picture.jobs.get(preempt.beneficiary, picture.jobs.get(parent_of(preempt.beneficiary), {}))
    return preempt.run.job.queue in queues and beneficiary.get("queue", "") in queues


def _find_comments(plan: Plan, picture: Picture, queues: Collection[str]) -> Iterator[tuple[str, str]]:
    """The comments to write: for each job left alone whose comment says something else, or said it long ago."""
    stamp = time.strftime(_STAMP, time.localtime(plan.time_s))
    for wait in plan.waits:
        for job in wait.jobs:
            if job.queue not in queues:
                continue
            sentence = wait.reason.sentence(job, plan.time_s)[:_COMMENT_LENGTH]
            if not _still_holds(picture.jobs.get(job.id, {}).get("comment", ""), sentence, plan.time_s):
                yield job.id, f"pbsteer {stamp}: {sentence}"


def _still_holds(comment: str, sentence: str, now_s: float) -> bool:
    """Whether a comment says the same already. Numbers and times that moved on are renewed only now and then."""
    own = _OWN_COMMENT.fullmatch(comment)
    if own is None:
        return False
    if own.group(2) == sentence:
        return True
    if _NUMBERS.sub("#", own.group(2)) != _NUMBERS.sub("#", sentence):
        return False
    try:
        written_s = time.mktime(time.strptime(own.group(1), _STAMP))
    except (ValueError, OverflowError):
        return False
    return 0 <= now_s - written_s < _COMMENT_AGE_S
