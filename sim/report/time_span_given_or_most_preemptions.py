"""A span of time to show in detail: given by the user, or the one with the most preemptions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sim.replay.job_records import Replay
from sim.report.compare_by_job_class import first_and_last_s, mean_level

DAY_S = 86400
_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": DAY_S}
_TIME = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([smhd])"
_ALLOWED = "START+LENGTH from the first submit, each a number with s, m, h or d, such as 12d+36h"


class Span(NamedTuple):
    """From `begin_s` to `end_s`, in seconds of the workload."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Its length; never 0."""
        return self.end_s - self.begin_s

    def after(self, first_s: float) -> Span:
        """The same span, counted from `first_s`."""
        return Span(first_s + self.begin_s, first_s + self.end_s)


def parse_span(text: str) -> Span:
    """Read `12d+36h`, in seconds after the first submit. ValueError quotes the text and says what is allowed."""
    match = re.fullmatch(rf"{_TIME}\+{_TIME}", text.strip())
    if match is None:
        raise ValueError(f"span {text!r}: must be {_ALLOWED}")
    begin_s, length_s = float(match[1]) * _UNITS_S[match[2]], float(match[3]) * _UNITS_S[match[4]]
    if length_s < 1:
        raise ValueError(f"span {text!r}: the length must be at least 1 s")
    return Span(begin_s, begin_s + length_s)


def busiest_day(replays: Sequence[Replay]) -> Span:
    """The day, counted from the first submit, with the most preemptions under all policies together.

    Without preemptions, the day with the most waiting jobs on average. The last day ends with the last job.
    """
    first_s, last_s = first_and_last_s(replays)
    days = int((last_s - first_s) // DAY_S) + 1
    cuts = [0] * days
    for replay in replays:
        for record in replay.records:
            for _, end_s in record.segments[:-1]:
                cuts[int((end_s - first_s) // DAY_S)] += 1
    waits = ((record.job.submit_s, record.start_s, 1) for replay in replays for record in replay.records)
    counts: Sequence[float] = cuts if any(cuts) else mean_level(waits, first_s, DAY_S, days)
    day = max(range(days), key=counts.__getitem__)
    begin_s = first_s + day * DAY_S
    return Span(begin_s, min(begin_s + DAY_S, max(last_s, begin_s + 1)))
