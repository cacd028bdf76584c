"""Gains and costs by user, by size and by job: users, jobs by their share of the machine, the jobs that lose most.

A mean hides both. Sizes are classes of cores as a share of the machine's, the same on every cluster; users and jobs are
compared with the first reference one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

from sim.evidence.gains_over_references import Gain, Pair, gains
from sim.evidence.weeks_of_submission import Weeks
from sim.replay.job_records import JobRecord
from sim.replay.metrics import area_s, bounded_slowdown, wait_s

SIZES_PERCENT = (1, 10, 25, 50, 100)
"""The upper bounds of the classes, in per cent of the machine's cores; each includes its bound."""


class SizeFigures(NamedTuple):
    """One class of sizes under one policy: the measured jobs, their mean wait in seconds and mean bounded slowdown, and
    the gains over the reference; none where no job ran under both."""

    up_to_percent: int
    jobs: int
    mean_wait_s: float
    mean_slowdown: float
    gains: Mapping[str, Gain]


class UserFigures(NamedTuple):
    """One user under one policy: the measured jobs, their means, and their core-seconds; ``reference_wait_s`` is the
    mean wait under the reference, of the jobs that both ran (``paired_wait_s``: the policy's own of these)."""

    user: str
    jobs: int
    core_s: float
    mean_wait_s: float
    mean_slowdown: float
    paired_wait_s: float | None
    reference_wait_s: float | None

    @property
    def longer_s(self) -> float:
        """How much longer the user's jobs wait than under the reference, in the mean; 0 if no job ran under both."""
        if self.paired_wait_s is None or self.reference_wait_s is None:
            return 0.0
        return self.paired_wait_s - self.reference_wait_s


def size_name(up_to_percent: int) -> str:
    """The name of a class, as tables have it."""
    at = SIZES_PERCENT.index(up_to_percent)
    return f"up to {up_to_percent} %" if at == 0 else f"{SIZES_PERCENT[at - 1]} to {up_to_percent} %"


def size_of(cores: int, cluster_cores: int) -> int:
    """The class of a job by its cores."""
    return next(bound for bound in SIZES_PERCENT if 100 * cores <= bound * cluster_cores)


def by_size(
    records: Iterable[JobRecord], pairs: Iterable[Pair], cluster_cores: int, weeks: Weeks, seed: int
) -> list[SizeFigures]:
    """The classes that have jobs, the smallest first."""
    mine: dict[int, list[JobRecord]] = {}
    both: dict[int, list[Pair]] = {}
    for record in records:
        mine.setdefault(size_of(record.job.cores, cluster_cores), []).append(record)
    for pair in pairs:
        both.setdefault(size_of(pair[0].job.cores, cluster_cores), []).append(pair)
    return [
        SizeFigures(
            bound,
            len(mine[bound]),
            fmean([wait_s(record) for record in mine[bound]]),
            fmean([bounded_slowdown(record) for record in mine[bound]]),
            gains(both[bound], weeks, seed) if bound in both else {},
        )
        for bound in sorted(mine)
    ]


def by_user(records: Iterable[JobRecord], pairs: Iterable[Pair]) -> list[UserFigures]:
    """Every user with measured jobs: those whose jobs wait longer than under the reference first, by how much in the
    mean."""
    mine: dict[str, list[JobRecord]] = {}
    both: dict[str, list[Pair]] = {}
    for record in records:
        mine.setdefault(record.job.user, []).append(record)
    for pair in pairs:
        both.setdefault(pair[0].job.user, []).append(pair)
    found = []
    for user, of_user in mine.items():
        paired = both.get(user)
        found.append(
            UserFigures(
                user,
                len(of_user),
                sum(map(area_s, of_user)),
                fmean([wait_s(record) for record in of_user]),
                fmean([bounded_slowdown(record) for record in of_user]),
                fmean([wait_s(policy) for policy, _ in paired]) if paired else None,
                fmean([wait_s(reference) for _, reference in paired]) if paired else None,
            )
        )
    return sorted(found, key=lambda each: (-each.longer_s, each.user))


def losers(pairs: Iterable[Pair]) -> list[Pair]:
    """The jobs that wait longer than under the reference, those first that wait longer by most."""
    longer = [(wait_s(policy) - wait_s(reference), policy, reference) for policy, reference in pairs]
    longer = [each for each in longer if each[0] > 0]
    longer.sort(key=lambda each: (-each[0], each[1].job.number))
    return [(policy, reference) for _, policy, reference in longer]
