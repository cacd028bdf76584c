"""The mark that a pass writes on a victim: its beneficiary, when it was asked to save, its hold, what it has saved.

It is the job's ``estimated.site``, which PBS keeps over requeues and restarts, so releasing a victim depends on no file
of ours (hooks/pbs/README.md). The marks of subjobs are on their array.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

MARK_ATTRIBUTE, MARK_RESOURCE = "estimated", "site"
MARK_KEY = f"{MARK_ATTRIBUTE}.{MARK_RESOURCE}"
"""The key of the mark in a job's attributes."""

_OURS = "pbsteer "
_BETWEEN = "; "
_INDEX = re.compile(r"\[([0-9]{1,9})\]")
_WORDS = {"for": "beneficiary", "how": "how", "why": "why"}
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_TIMES = {"asked": "asked_s", "until": "until_s", "saved": "saved_s", "then": "then_s"}


class Mark(NamedTuple):
    """What is known of a victim; times are seconds since 1970.

    ``beneficiary`` is the job for which it was asked at ``asked_s``, ``how`` the method
    (:mod:`hooks.checkpoint.victims.plan_victim_requests`), with time to save until ``until_s``. ``held``: we hold it
    until the beneficiary runs. ``why`` is the reason if the request was withdrawn, at ``until_s``
    (:mod:`hooks.checkpoint.victims.withdraw_save_requests`). ``saved_s`` is the work in seconds that runs before the
    marked one had saved (see :class:`policy.model.jobs_runs_vnodes_queues.Job`), ``then_s`` what is saved once the
    marked run is over.
    """

    beneficiary: str = ""
    how: str = ""
    asked_s: int = 0
    until_s: int = 0
    saved_s: int = 0
    then_s: int = 0
    held: bool = False
    why: str = ""

    def is_of_run(self, start_s: float | None) -> bool:
        """Whether this is the mark of the run that began at ``start_s``, not of an earlier one of the same job."""
        return bool(self.asked_s) and start_s is not None and start_s <= self.asked_s

    def saved_before(self, start_s: float | None) -> float:
        """The work saved when the run at ``start_s`` began; of a waiting job (``start_s`` None), all that is saved."""
        # Hardly any of a hundred thousand jobs has saved work: all others share this one 0.0.
        return float(self.saved_s if self.is_of_run(start_s) else self.then_s) or 0.0


NO_MARK = Mark()

Marks = Mapping[Optional[int], Mark]
"""The marks of a job under None, and those of an array's subjobs by index."""


def is_own_mark(text: str) -> bool:
    """Whether a pass wrote this text, valid or not."""
    return text.startswith(_OURS)


def read_marks(texts: Mapping[str, str]) -> dict[int | None, Mark]:
    """The marks in a job's attributes. Never raises: a text that is not ours or is invalid is no mark."""
    text = texts.get(MARK_KEY, "")
    if not is_own_mark(text):
        return {}
    marks: dict[int | None, Mark] = {}
    for entry in text[len(_OURS) :].split(_BETWEEN):
        words = entry.split(" ")
        index = _INDEX.fullmatch(words[0])
        mark = _read_mark(words[1:] if index else words)
        if mark is not None:
            marks[int(index.group(1)) if index else None] = mark
    return marks


def show_marks(marks: Marks) -> str:
    """The text to write; empty if all marks are empty."""
    entries = [
        (f"[{index}] " if index is not None else "") + _show_mark(marks[index])
        for index in sorted(marks, key=lambda index: -1 if index is None else index)
        if marks[index] != NO_MARK
    ]
    return _OURS + _BETWEEN.join(entries) if entries else ""


def _read_mark(words: list[str]) -> Mark | None:
    fields: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if word == "held":
            fields["held"] = True
        elif name in _WORDS and value:
            fields[_WORDS[name]] = value
        elif name in _TIMES and _WHOLE.fullmatch(value):
            fields[_TIMES[name]] = int(value)
        elif name in _WORDS or name in _TIMES:
            return None
        # Any other word is a newer version's: without its mark a job that this one has to release would stay held.
    return Mark(**fields) if fields else None


def _show_mark(mark: Mark) -> str:
    fields = {**_WORDS, **_TIMES}
    words = [f"{name}={getattr(mark, field)}" for name, field in fields.items() if getattr(mark, field)]
    return " ".join([*words, *(["held"] if mark.held else [])])
