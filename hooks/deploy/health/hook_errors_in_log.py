"""Errors of our hooks in the server's log: one sentence each, with its time; of a traceback its first and last line.

PBS writes one file a day, ``MM/DD/YYYY HH:MM:SS;mask;server;class;object;text``, and a text of several lines as it is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HOUR_S = 3600.0
_OURS = b"pbsteer: "
_DATED = re.compile(rb"[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}")
_STAMP = "%m/%d/%Y %H:%M:%S"
_CLASS, _TEXT = 3, 5


class Complaint(NamedTuple):
    """One complaint and its time, which is 0 if it cannot be read."""

    at_s: float
    text: str

    def show(self) -> str:
        """The complaint as an administrator reads it."""
        when = time.strftime("%Y-%m-%d %H:%M:%S ", time.localtime(self.at_s)) if self.at_s > 0 else ""
        return when + self.text


def read_complaints(folder: Path, now_s: float) -> list[Complaint]:
    """Today's complaints, oldest first, and those of the last hour before midnight. Raises OSError for a log that
    exists and cannot be read."""
    days = {time.strftime("%Y%m%d", time.localtime(at_s)): None for at_s in (now_s - HOUR_S, now_s)}
    found = [complaint for day in days for complaint in _read_day(folder / day)]
    today = time.strftime("%Y%m%d", time.localtime(now_s))
    return [each for each in found if _day_of(each) in ("", today) or is_fresh(each, now_s)]


def is_fresh(complaint: Complaint, now_s: float) -> bool:
    """Whether it is less than an hour old."""
    return now_s - complaint.at_s < HOUR_S


def _read_day(path: Path) -> Iterator[Complaint]:
    at_s, lines = 0.0, list[bytes]()
    try:
        with path.open("rb") as log:
            for line in log:
                if not _DATED.match(line):
                    lines += [line] if lines else []
                    continue
                if lines:
                    yield Complaint(at_s, _join(lines))
                lines = []
                parts = line.split(b";", _TEXT)
                if len(parts) > _TEXT and parts[_CLASS] == b"Hook" and parts[_TEXT].startswith(_OURS):
                    at_s, lines = _read_time(parts[0]), [parts[_TEXT][len(_OURS) :]]
    except FileNotFoundError:
        return
    if lines:
        yield Complaint(at_s, _join(lines))


def _join(lines: list[bytes]) -> str:
    """The first line, and the last one if there are several, which in a traceback names the error."""
    texts = [line.decode("utf-8", "replace").strip() for line in lines]
    texts = [text for text in texts if text]
    return " ... ".join(dict.fromkeys([texts[0], texts[-1]])) if texts else ""


def _read_time(stamp: bytes) -> float:
    try:
        return time.mktime(time.strptime(stamp.partition(b".")[0].decode("ascii"), _STAMP))
    except (ValueError, OverflowError):
        return 0.0


def _day_of(complaint: Complaint) -> str:
    return time.strftime("%Y%m%d", time.localtime(complaint.at_s)) if complaint.at_s > 0 else ""
