"""The form of pbsteer's job comments: a sentence between two stamps of the time when it was written."""

from __future__ import annotations

import re
import time

OWN_COMMENT = re.compile(
    r"([A-Z][a-z]{2} [0-3][0-9] [0-9]{2}:[0-9]{2}: )?(.*) \(pbsteer ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2})\)",
    re.DOTALL,
)
"""A comment of pbsteer's own, as against PBS's scheduler's and managers': when it was written, the sentence, and the
same time with the year. It stands in front too, since ``qstat -s`` shows 70 characters and cuts the rest."""


_OWN_OF_0_1 = re.compile(r"pbsteer [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}: .*", re.DOTALL)
"""The form of 0.1.0, with the time first: jobs that waited through an upgrade may still have such a comment."""


_FRONT = "%b %d %H:%M: "


_STAMP = "%Y-%m-%d %H:%M"


def make_comment(sentence: str, time_s: float) -> str:
    """A comment of pbsteer's own."""
    at = time.localtime(time_s)
    return f"{time.strftime(_FRONT, at)}{sentence} (pbsteer {time.strftime(_STAMP, at)})"


def is_own_comment(comment: str) -> bool:
    """Whether a pass wrote this comment, one of an earlier release too."""
    return any(form.fullmatch(comment) for form in (OWN_COMMENT, _OWN_OF_0_1))


def show_moment(at_s: float, now_s: float) -> str:
    """A time as it stays true: ``at 20:35``, on another day ``on Nov 23 at 20:35``."""
    at, today = time.localtime(at_s), time.localtime(now_s)
    return time.strftime("at %H:%M" if at[:3] == today[:3] else "on %b %d at %H:%M", at)
