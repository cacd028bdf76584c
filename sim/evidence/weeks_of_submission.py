"""The weeks that jobs are counted in, from the first submission of a workload on.

They are the blocks of the bootstrap, so that they have to be of about one length: what is left at the end, if it is
shorter than half a week, belongs to the week before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sim.workload.workload import WEEK_S, TraceJob


class Weeks(NamedTuple):
    """The weeks from the first submission to the last one, in seconds of the workload."""

    first_s: float
    last_s: float

    @classmethod
    def of(cls, jobs: Sequence[TraceJob]) -> Weeks:
        """Those of at least one job, in order of submission."""
        return cls(jobs[0].submit_s, jobs[-1].submit_s)

    @property
    def total(self) -> int:
        """How many there are, at least one. A rest of half a week or more counts as a week."""
        weeks, rest_s = divmod(self.last_s - self.first_s, WEEK_S)
        return max(1, int(weeks) + (rest_s >= WEEK_S / 2))

    def number(self, submit_s: float) -> int:
        """The week of a submission, from 0. Those before the first or after the last week belong to that one: a job
        that comes after a think time may come later than any did in the trace."""
        return min(max(0, int((submit_s - self.first_s) // WEEK_S)), self.total - 1)


ONE_WEEK = Weeks(0, 0)
"""For jobs that are not told apart by weeks."""
