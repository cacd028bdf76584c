"""The comparison beyond the figures of one policy: waits and slowdowns by class of job, and cores in use over time.

Jobs are short or long as in S. Srinivasan, R. Kettimuthu, V. Subramani, P. Sadayappan, "Characterization of backfilling
strategies for parallel job scheduling", ICPP Workshops 2002; wide is the widest quarter of the workload.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from sim.evidence.figures_by_user_and_size import SIZES_PERCENT, SizeFigures, UserFigures, by_size, by_user, losers
from sim.evidence.gains_over_references import MEASURES, REFERENCES, Gain, Pair
from sim.evidence.weeks_of_submission import ONE_WEEK, Weeks
from sim.replay.job_records import JobRecord, Replay
from sim.replay.metrics import Metrics, bounded_slowdown, measure, percentile, wait_s
from sim.report.gains_sizes_users_and_losers import Gains
from sim.report.replay_table_json_and_csv import every_job_ran
from sim.workload.workload import TraceJob, Workload

LONG_S = 3600
ALL = "all"
CLASSES = ("short narrow", "short wide", "long narrow", "long wide")


@dataclass(frozen=True)
class Spread:
    """The spread of values: their mean, and their 5th, 25th, 50th, 75th and 95th percentiles."""

    mean: float
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one value (nearest rank)."""
        ranked = sorted(values)
        return cls(sum(ranked) / len(ranked), *(percentile(ranked, percent) for percent in (5, 25, 50, 75, 95)))


@dataclass(frozen=True)
class ClassFigures:
    """One class of jobs under one policy: the number of jobs, their waits in seconds, their bounded slowdowns."""

    name: str
    jobs: int
    waits_s: Spread
    slowdowns: Spread


@dataclass(frozen=True)
class Compared:
    """One policy: its figures, and the classes that have jobs, all jobs together first; its gains over the references,
    the sizes that have jobs, its users, and its jobs beside the first reference's.
    """

    metrics: Metrics
    classes: Mapping[str, ClassFigures]
    gains: Gains
    sizes: Sequence[SizeFigures]
    users: Sequence[UserFigures]
    pairs: Sequence[Pair]

    def flat(self, workload: Workload) -> dict[str, object]:
        """Every figure under one name: those of `Metrics`, then whether every job of the workload ran (otherwise the
        figures are not comparable), then those of the classes, the gains, and those of sizes and users. The names are
        the same for every policy on one cluster.

        A class without jobs has 0 jobs and None for its figures; a gain over itself is None.
        """
        values = {**self.metrics.figures(), "every_job_ran": every_job_ran(self.metrics, workload)}
        for name in (ALL, *CLASSES):
            figures = self.classes.get(name)
            prefix = name.replace(" ", "_")
            values[f"{prefix}_jobs"] = figures.jobs if figures else 0
            for what, spread in (
                ("wait_s", figures.waits_s if figures else None),
                ("bounded_slowdown", figures.slowdowns if figures else None),
            ):
                for key in Spread.__dataclass_fields__:
                    values[f"{prefix}_{what}_{key}"] = getattr(spread, key) if spread else None
        for reference in REFERENCES:
            values.update(_flat_gains(f"gain_over_{reference.replace('-', '_')}", self.gains.get(reference, {})))
        of_size = {each.up_to_percent: each for each in self.sizes}
        for bound in SIZES_PERCENT:
            size, prefix = of_size.get(bound), f"size_up_to_{bound}_percent"
            values[f"{prefix}_jobs"] = size.jobs if size else 0
            values[f"{prefix}_mean_wait_s"] = size.mean_wait_s if size else None
            values[f"{prefix}_mean_bounded_slowdown"] = size.mean_slowdown if size else None
            values.update(_flat_gains(f"{prefix}_gain_over_easy", size.gains if size else {}))
        values["jobs_that_wait_longer_than_under_easy"] = len(losers(self.pairs))
        values["users_who_wait_longer_than_under_easy"] = sum(user.longer_s > 0 for user in self.users)
        return values


def _flat_gains(prefix: str, of_measure: Mapping[str, Gain]) -> dict[str, object]:
    values: dict[str, object] = {}
    for what in MEASURES:
        gain = of_measure.get(what)
        values[f"{prefix}_{what}"] = gain.gain if gain else None
        values[f"{prefix}_{what}_low"] = gain.low if gain else None
        values[f"{prefix}_{what}_high"] = gain.high if gain else None
    return values


def wide_above(jobs: Sequence[TraceJob]) -> int:
    """The number of cores above which a job is wide: three quarters of the jobs have at most this many."""
    ranked = sorted(job.cores for job in jobs)
    return ranked[-(-3 * len(ranked) // 4) - 1]


def class_of(job: TraceJob, wide_above_cores: int) -> str:
    """The name of a job's class, by its true run time and its cores."""
    return CLASSES[2 * (job.run_s > LONG_S) + (job.cores > wide_above_cores)]


def compare_jobs(
    replay: Replay,
    wide_above_cores: int,
    measured: Container[int] | None = None,
    gains: Gains = MappingProxyType({}),
    pairs: Sequence[Pair] = (),
    *,
    weeks: Weeks = ONE_WEEK,
    seed: int = 1,
) -> Compared:
    """Measure one replay, and each class of its jobs that have ``measured`` numbers (None: of all).

    ``pairs`` are these jobs beside the first reference's, of a workload of these ``weeks``.
    """
    records = [record for record in replay.records if measured is None or record.job.number in measured]
    by_class: dict[str, list[JobRecord]] = {ALL: records}
    for record in records:
        by_class.setdefault(class_of(record.job, wide_above_cores), []).append(record)
    classes = {
        name: ClassFigures(
            name,
            len(by_class[name]),
            Spread.of(map(wait_s, by_class[name])),
            Spread.of(map(bounded_slowdown, by_class[name])),
        )
        for name in (ALL, *CLASSES)
        if name in by_class
    }
    is_reference = bool(pairs) and pairs[0][0] is pairs[0][1]
    sizes = by_size(records, () if is_reference else pairs, replay.cluster.cores, weeks, seed)
    return Compared(measure(replay, measured), classes, gains, sizes, by_user(records, pairs), pairs)


def first_and_last_s(replays: Sequence[Replay]) -> tuple[float, float]:
    """The first submit and the last end of all replays together."""
    first_s = min(record.job.submit_s for replay in replays for record in replay.records)
    return first_s, max(record.end_s for replay in replays for record in replay.records)


def usage(replay: Replay, first_s: float, every_s: float, points: int) -> list[float]:
    """Cores in use as a share of all: exact means over `points` intervals of `every_s` seconds from `first_s` on."""
    runs = ((*segment, record.job.cores) for record in replay.records for segment in record.segments)
    return [level / replay.cluster.cores for level in mean_level(runs, first_s, every_s, points)]


def mean_level(
    intervals: Iterable[tuple[float, float, float]], first_s: float, every_s: float, points: int
) -> list[float]:
    """The sum of the heights of all (begin, end, height), as means over `points` intervals of `every_s` from `first_s`
    on.

    Takes time proportional to the intervals and the points, however long the intervals are.
    """
    # A height that begins within an interval counts there for the rest of it, and in full from the next one on.
    within = [0.0] * (points + 1)
    onward = [0.0] * (points + 2)
    for begin_s, end_s, height in intervals:
        for time_s, change in ((begin_s, height), (end_s, -height)):
            place = min(max(0.0, (time_s - first_s) / every_s), float(points))
            point = int(place)
            within[point] += change * (point + 1 - place)
            onward[point + 1] += change
    means, level = [], 0.0
    for point in range(points):
        level += onward[point]
        means.append(level + within[point])
    return means
