"""A forecast as it is published, and as the console and the commands read it: data that others wrote, checked whole.

The moments of each job that may start within what the forecast looks at are kept, in whole seconds; of all others only
that they start later, or what they wait for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from policy.model.printable_text import printable

_VERSION = 1
NAMED_VNODES = 4
"""So many vnodes of a job are named; the others are counted."""
_LONGEST_TEXT = 300
_MOST_S = 1e13


class Estimate(NamedTuple):
    """When one job starts, in seconds since 1970; None is a moment beyond what the forecast looks at.

    It starts before ``half_s`` in half of the cases, before ``nine_tenths_s`` in nine of ten, and at ``last_s`` if all
    jobs run as long as they asked for. ``after``: the run whose end most often lets it start, in ``after_share`` of the
    cases. ``vnodes`` are the first of the ``vnode_count`` on which it then runs.
    """

    half_s: float | None
    nine_tenths_s: float | None
    last_s: float | None
    after: str = ""
    after_share: float = 0.0
    vnodes: tuple[str, ...] = ()
    vnode_count: int = 0


LATER = Estimate(None, None, None)
"""Later than the forecast looks, or not known when."""


class PublishedForecast(NamedTuple):
    """The forecast of all waiting jobs at ``time_s``, as far as ``horizon_s`` (both in seconds since 1970).

    ``draws`` of ``draws_wanted`` cases were run; ``runs`` is how many past runs the run times come from. ``unknown``
    has the jobs that do not start by themselves, with what they wait for; ``cpu_s`` is what it cost. ``left_out`` jobs
    further back in line were not run forward: their estimate is :data:`LATER`.
    """

    time_s: float
    horizon_s: float
    draws: int
    draws_wanted: int
    runs: int
    cpu_s: float
    jobs: Mapping[str, Estimate]
    unknown: Mapping[str, str] = {}
    left_out: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all cases were run in the time that there was."""
        return self.draws >= self.draws_wanted

    def age_s(self, now_s: float) -> float:
        """How old it is, in seconds; 0 for one from a clock that is ahead."""
        return max(0.0, now_s - self.time_s)

    def of(self, job_id: str) -> Estimate | None:
        """The estimate of a job; None if the forecast does not know it, or it does not start by itself."""
        return self.jobs.get(job_id)

    def to_data(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {
            "version": _VERSION,
            "time_s": self.time_s,
            "horizon_s": self.horizon_s,
            "draws": self.draws,
            "draws_wanted": self.draws_wanted,
            "runs": self.runs,
            "cpu_s": round(self.cpu_s, 2),
            "left_out": self.left_out,
            "jobs": {job_id: _row(each) for job_id, each in self.jobs.items() if each != LATER},
            "later": [job_id for job_id, each in self.jobs.items() if each == LATER],
            "unknown": {job_id: text[:_LONGEST_TEXT] for job_id, text in self.unknown.items()},
        }

    @classmethod
    def from_data(cls, data: object) -> PublishedForecast | None:
        """What :meth:`to_data` gave; None for anything else. Never raises.

        Rows that make no sense are left out, and every text is made printable: the file may be of another version, or
        damaged.
        """
        if not isinstance(data, Mapping) or data.get("version") != _VERSION:
            return None
        time_s, horizon_s = _moment(data.get("time_s")), _moment(data.get("horizon_s"))
        counts = [_count(data.get(name)) for name in ("draws", "draws_wanted", "runs", "left_out")]
        cpu_s = _moment(data.get("cpu_s"))
        if time_s is None or horizon_s is None or cpu_s is None or None in counts:
            return None
        draws, wanted, runs, left_out = (count or 0 for count in counts)
        rows, later, unknown = data.get("jobs"), data.get("later"), data.get("unknown")
        jobs: dict[str, Estimate] = {}
        for job_id, row in rows.items() if isinstance(rows, Mapping) else ():
            estimate = _estimate(row)
            if estimate is not None:
                jobs[_text(job_id)] = estimate
        for job_id in later if isinstance(later, list) else ():
            jobs.setdefault(_text(job_id), LATER)
        texts = {
            _text(job_id): _text(text)
            for job_id, text in (unknown.items() if isinstance(unknown, Mapping) else ())
            if isinstance(text, str)
        }
        return cls(time_s, horizon_s, draws, wanted, runs, cpu_s, jobs, texts, left_out)


def _row(each: Estimate) -> list[Any]:
    moments = [None if at_s is None else math.ceil(at_s) for at_s in each[:3]]
    return [*moments, each.after, round(each.after_share, 3), list(each.vnodes), each.vnode_count]


def _estimate(row: object) -> Estimate | None:
    if not isinstance(row, list) or len(row) != len(Estimate._fields):
        return None
    half_s, nine_tenths_s, last_s, after, share, vnodes, count = row
    for at_s in (half_s, nine_tenths_s, last_s):
        if at_s is not None and _moment(at_s) is None:
            return None
    known_share, known_count = _moment(share), _count(count)
    if not isinstance(after, str) or known_share is None or known_count is None or not isinstance(vnodes, list):
        return None
    names = tuple(_text(name) for name in vnodes[:NAMED_VNODES])
    return Estimate(half_s, nine_tenths_s, last_s, _text(after), min(1.0, known_share), names, known_count)


def _moment(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _MOST_S:
        return None
    return float(value)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_S else None


def _text(value: object) -> str:
    return printable(str(value)[:_LONGEST_TEXT])
