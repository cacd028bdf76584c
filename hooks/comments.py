"""The comments that a pass writes: why each job that it left alone waits, in few enough that the server is not held up.

Most of them go to the jobs that are next in the order, the rest to the jobs behind them, who have their turn one after
the other from pass to pass. A comment that still holds is not written again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from hooks.picture import Picture
from policy.classes import BASE
from policy.cluster import Job
from policy.in_line import InLine
from policy.own_order import queue_order
from policy.plan import Plan
from policy.printable import printable
from policy.reasons import Reason
from policy.settings import Settings

OWN_COMMENT = re.compile(r"(.*) \(pbsteer ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})\)", re.DOTALL)
"""A comment of pbsteer's own, as against PBS's scheduler's and managers': the sentence, and when it was written. The
sentence comes first, since ``qstat -s`` shows 70 characters and cuts the rest."""
_OWN_OF_0_1 = re.compile(r"pbsteer [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}: .*", re.DOTALL)
"""The form of 0.1.0, with the time first: jobs that waited through an upgrade may still have such a comment."""
_STAMP = "%Y-%m-%d %H:%M"
_AGE_S = 900
_LENGTH = 300
_NUMBERS = re.compile(r"[0-9][0-9,.]*( (s|min|h|d)\b)?")

_IN_TURN = 4
"""One comment of so many goes to a job that is not next, so that each gets its own in the end."""

Waiting = Sequence[tuple[Job, Reason]]


def find_comments(
    plan: Plan, picture: Picture, queues: Collection[str], settings: Settings
) -> Iterator[tuple[str, str]]:
    """Job and comment, for ``schedule.max_comments`` of the jobs left alone in these queues whose comment says
    something else, or said it long ago."""
    schedule = settings.schedule
    in_line = InLine(plan, settings)
    waiting = _in_order(plan, queues)
    in_turn = -(-schedule.max_comments // _IN_TURN)
    behind = 0
    for job_id, comment, position in islice(
        _find_new(waiting, plan, picture, in_line), schedule.max_comments - in_turn
    ):
        behind = position + 1
        yield job_id, comment
    rest = waiting[behind:]
    turn = int(plan.time_s // schedule.interval_s) * in_turn % max(1, len(rest))
    for job_id, comment, _ in islice(_find_new([*rest[turn:], *rest[:turn]], plan, picture, in_line), in_turn):
        yield job_id, comment


def make_comment(sentence: str, time_s: float) -> str:
    """A comment of pbsteer's own."""
    return f"{sentence} (pbsteer {time.strftime(_STAMP, time.localtime(time_s))})"


def is_own_comment(comment: str) -> bool:
    """Whether a pass wrote this comment, one of an earlier release too."""
    return any(form.fullmatch(comment) for form in (OWN_COMMENT, _OWN_OF_0_1))


def _in_order(plan: Plan, queues: Collection[str]) -> Waiting:
    """The jobs left alone in the order in which they have their turn: those with a promise, then by class, then as
    PBS has them (docs/policies.md)."""
    reasons, promises, classes = plan.reasons(), plan.ledger.promises, plan.classes or {}
    entries = queue_order(plan.started.world(), plan.time_s)
    jobs = [entry[5] for entry in entries if entry[5].queue in queues and entry[5].id in reasons]
    jobs.sort(key=lambda job: (job.id not in promises, -classes.get(job.id, BASE)))
    return [(job, reasons[job.id][1]) for job in jobs]


def _find_new(waiting: Waiting, plan: Plan, picture: Picture, in_line: InLine) -> Iterator[tuple[str, str, int]]:
    """Job, comment and position of those whose comment does not hold any more."""
    for position, (job, reason) in enumerate(waiting):
        sentence = printable(reason.sentence(job, plan.time_s, in_line.numbers(job.id))[:_LENGTH])
        if not _still_holds(picture.jobs.get(job.id, {}).get("comment", ""), sentence, plan.time_s):
            yield job.id, make_comment(sentence, plan.time_s), position


def _still_holds(comment: str, sentence: str, now_s: float) -> bool:
    """Whether a comment says the same already. Numbers and times that moved on are renewed only now and then."""
    own = OWN_COMMENT.fullmatch(comment)
    if own is None:
        return False
    if own.group(1) == sentence:
        return True
    if _NUMBERS.sub("#", own.group(1)) != _NUMBERS.sub("#", sentence):
        return False
    try:
        written_s = time.mktime(time.strptime(own.group(2), _STAMP))
    except (ValueError, OverflowError):
        return False
    return 0 <= now_s - written_s < _AGE_S
