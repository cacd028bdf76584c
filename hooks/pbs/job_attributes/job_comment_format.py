"""The form of pbsteer's job comments: a sentence between two stamps of the time when it was written."""

from __future__ import annotations

import re
import time

from hooks.pbs.job_attributes.job_ids_and_states import LATEST_S

OWN_COMMENT = re.compile(
    r"([A-Z][a-z]{2} [0-3][0-9] [0-9]{2}:[0-9]{2}: )?(.*) \(pbsteer ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})\)",
    re.DOTALL,
)
"""A comment written by pbsteer, not by PBS's scheduler or a manager: time, sentence, and the same time with the year.
The time is also in front because ``qstat -s`` cuts comments after 70 characters."""


_OWN_OF_0_1 = re.compile(r"pbsteer [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}: .*", re.DOTALL)
"""The form of 0.1.0, with the time first: jobs that waited through an upgrade may still have such a comment."""


_COUNTS = re.compile(
    r"\b[0-9][0-9,]* (?:cores? )?(?:is|are) (?:(?=spare\b)|idle\b"
    r"(?: \(and [0-9]+ on vnodes that jobs hold exclusively\))?)"
    r"|(?<=\bjobs ahead of it: )[0-9][0-9,]*"
)
"""The counts that other jobs move. They may lag: a comment tells its own age."""


_REFUSED = "Not Running: PBS Error: "
"""The beginning of PBS's comment on a job that a hook or the job's host refused to start."""


_FRONT = "%b %d %H:%M: "
STAMP = "%Y-%m-%d %H:%M"
"""When a comment was written, in local time, as ``time.strftime`` writes it."""


def make_comment(sentence: str, time_s: float) -> str:
    """The sentence as a comment of pbsteer's, with both stamps."""
    at = time.localtime(time_s)
    return f"{time.strftime(_FRONT, at)}{sentence} (pbsteer {time.strftime(STAMP, at)})"


def is_own_comment(comment: str) -> bool:
    """Whether a pass wrote this comment, including passes of earlier releases."""
    return any(form.fullmatch(comment) for form in (OWN_COMMENT, _OWN_OF_0_1))


def refusal_in(comment: str) -> str:
    """Why a hook or the job's host refused to start it, by PBS's comment; empty if that says nothing of it."""
    return comment[len(_REFUSED) :] if comment.startswith(_REFUSED) else ""


def show_moment(at_s: float, now_s: float) -> str:
    """A time as an absolute one, which stays true: ``at 20:35``, on another day ``on Nov 23 at 20:35``, in another year
    ``on Nov 23 2031 at 20:35``."""
    if not at_s < LATEST_S:
        return "in a far future"
    at, today = time.localtime(at_s), time.localtime(now_s)
    if at[:3] == today[:3]:
        return time.strftime("at %H:%M", at)
    return time.strftime("on %b %d at %H:%M" if at[0] == today[0] else "on %b %d %Y at %H:%M", at)


def without_counts(sentence: str) -> str:
    """The sentence without the counts that other jobs move: two that then are equal say the same."""
    return _COUNTS.sub("#", sentence)
