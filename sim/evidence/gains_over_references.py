"""The gain of a policy over the policies that a site could run instead at no cost: EASY, and EASY shortest first.

A gain compares the same jobs, paired by number: those that both replays ran, and that are measured at all. It is the
share by which a mean over them lies below the reference's.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Callable, NamedTuple

from sim.evidence.block_bootstrap_over_weeks import gain_of, interval_of_gain
from sim.evidence.weeks_of_submission import Weeks
from sim.replay.job_records import JobRecord, Replay
from sim.replay.metrics import area_s, bounded_slowdown, wait_s

REFERENCES = ("easy", "easy-sjbf")
"""The references by name. The first is the one that users and jobs are compared with one by one."""

Pair = tuple[JobRecord, JobRecord]
"""A job under a policy, and the same job under the reference."""

MEASURES: Mapping[str, Callable[[JobRecord], float]] = {
    "bounded_slowdown": bounded_slowdown,
    "wait": wait_s,
    "area_weighted_wait": lambda record: area_s(record) * wait_s(record),
}
"""What is gained on: the sum of each over the jobs."""


class Gain(NamedTuple):
    """A gain as a share, with its 95 % interval; over how many jobs, and of how many weeks these are.

    ``gain`` is None where the reference has nothing to gain on, ``low`` and ``high`` are None where there is no
    interval (:func:`~sim.evidence.block_bootstrap_over_weeks.interval_of_gain`).
    """

    gain: float | None
    low: float | None
    high: float | None
    jobs: int
    weeks: int


class Reference:
    """The replay that others are compared with."""

    def __init__(self, replay: Replay) -> None:
        self.name = replay.policy
        self._replay = replay

    @cached_property
    def _by_number(self) -> Mapping[int, JobRecord]:
        return {record.job.number: record for record in self._replay.records}

    def pairs(self, replay: Replay, measured: Container[int]) -> list[Pair]:
        """The measured jobs that both ran."""
        mine = self._by_number
        return [
            (record, mine[record.job.number])
            for record in replay.records
            if record.job.number in measured and record.job.number in mine
        ]


def gains(pairs: Sequence[Pair], of_workload: Weeks, seed: int) -> dict[str, Gain]:
    """The gain in each of :data:`MEASURES`, over the weeks of the workload; those without jobs are no weeks."""
    of_week: dict[int, list[Pair]] = {}
    for pair in pairs:
        of_week.setdefault(of_workload.number(pair[1].job.submit_s), []).append(pair)
    weeks = [of_week[week] for week in sorted(of_week)]
    found = {}
    for name, measure in MEASURES.items():
        policy = [_sum(measure, (mine for mine, _ in week)) for week in weeks]
        reference = [_sum(measure, (theirs for _, theirs in week)) for week in weeks]
        interval = interval_of_gain(policy, reference, seed)
        low, high = interval if interval is not None else (None, None)
        found[name] = Gain(gain_of(sum(policy), sum(reference)), low, high, len(pairs), len(weeks))
    return found


def _sum(measure: Callable[[JobRecord], float], records: Iterable[JobRecord]) -> float:
    return sum(map(measure, records))
