"""Chooses backfill settings on a site's own history, and judges the choice on weeks that it was not made on.

The choice is rolling: for each judged week, the setting that was best on all measured weeks before it is compared with
EASY on that week alone. The setting that is best on all weeks is recommended only if choosing would have paid overall
and in most of the judged weeks; otherwise the verdict is to keep EASY.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim.tune.candidate_settings import Candidate
from sim.tune.replay_weeks import Figures, Results, Week, replay_all, together, weeks_of
from sim.workload.workload import Cluster, Workload

WARM_UP_WEEKS = 1
CHOOSING_WEEKS = 2
FEWEST_FOLDS = 2
FEWEST_WEEKS = WARM_UP_WEEKS + CHOOSING_WEEKS + FEWEST_FOLDS
LEAST_GAIN = 0.01
"""A smaller gain does not count: it would not repay the change."""
ON_TIME_S = 1.0
"""A start at most this much later than promised is on time: times are sums of fractions of a second."""


class TuneError(ValueError):
    """The history is too short for a recommendation; the message says what is needed."""


@dataclass(frozen=True)
class Fold:
    """One judged week: the setting chosen on the weeks before, and the figures of it, of EASY and of the best in
    hindsight.
    """

    week: Week
    chosen: Candidate
    judged: Figures
    easy: Figures
    best: Candidate
    hindsight: Figures

    @property
    def gain(self) -> float:
        """How far the chosen setting's mean bounded slowdown is below EASY's, as a share of EASY's."""
        return gain(self.judged, self.easy)

    @property
    def best_gain(self) -> float:
        """The gain of the setting that was best in this week."""
        return gain(self.hindsight, self.easy)


@dataclass(frozen=True)
class Tuning:
    """The whole result. `totals` are each candidate's figures over all measured `weeks`, EASY's first."""

    workload: Workload
    cluster: Cluster
    candidates: tuple[Candidate, ...]
    weeks: tuple[Week, ...]
    results: Results
    totals: tuple[Figures, ...]
    folds: tuple[Fold, ...]
    best: Candidate

    @property
    def judged(self) -> Figures:
        """The figures of all judged weeks under the setting chosen for each."""
        return together(fold.judged for fold in self.folds)

    @property
    def easy(self) -> Figures:
        """The figures of all judged weeks under EASY."""
        return together(fold.easy for fold in self.folds)

    @property
    def hindsight(self) -> Figures:
        """The figures of all judged weeks, each under the setting that was best in it."""
        return together(fold.hindsight for fold in self.folds)

    @property
    def gain(self) -> float:
        """The gain of choosing over EASY on the judged weeks together."""
        return gain(self.judged, self.easy)

    @property
    def weeks_won(self) -> int:
        """The number of judged weeks in which the choice was better than EASY."""
        return sum(fold.judged.slowdown < fold.easy.slowdown for fold in self.folds)

    @property
    def worth_it(self) -> bool:
        """True if choosing gained at least `LEAST_GAIN`, and was better in more than half of the judged weeks."""
        return self.gain >= LEAST_GAIN and 2 * self.weeks_won > len(self.folds) and self.best != self.candidates[0]

    @property
    def recommended(self) -> Candidate:
        """The best setting of all weeks if choosing was worth it; else EASY."""
        return self.best if self.worth_it else self.candidates[0]


def gain(figures: Figures, easy: Figures) -> float:
    """1 - mean bounded slowdown / EASY's."""
    return 1.0 - figures.slowdown / easy.slowdown


def measured_weeks(workload: Workload, most_weeks: int) -> list[Week]:
    """The weeks to measure: of the last `most_weeks` full ones all but the first, which only warms up the second.

    Raises TuneError where they are too few to choose and to judge.
    """
    full = weeks_of(workload)
    weeks = full[-most_weeks:]
    if len(weeks) < FEWEST_WEEKS:
        have = f"{len(full)} full week{'s' * (len(full) != 1)} of submissions"
        raise TuneError(
            f"{workload.name}: too short to tune on: it has {have}"
            + (f", and {most_weeks} of them are to be used" if most_weeks < len(full) else "")
            + f"; needed are {FEWEST_WEEKS}: {WARM_UP_WEEKS} to warm up, {CHOOSING_WEEKS} to choose on and at least "
            f"{FEWEST_FOLDS} to judge on. A shorter one can still be looked at with pbsteer simulate"
        )
    return weeks[WARM_UP_WEEKS:]


def tune(
    workload: Workload,
    cluster: Cluster,
    candidates: Sequence[Candidate],
    weeks: Sequence[Week],
    *,
    workers: int = 1,
    progress: Callable[[int], object] | None = None,
) -> Tuning:
    """Replay, choose and judge. The first candidate is EASY, `weeks` are from :func:`measured_weeks`."""
    results = replay_all(workload, cluster, weeks, candidates, workers=workers, progress=progress)
    return judge(workload, cluster, candidates, weeks, results)


def judge(
    workload: Workload, cluster: Cluster, candidates: Sequence[Candidate], weeks: Sequence[Week], results: Results
) -> Tuning:
    """Choose and judge, fold by fold, on the figures of every week under every candidate."""
    folds = [_fold(weeks, candidates, results, week) for week in range(CHOOSING_WEEKS, len(weeks))]
    return Tuning(
        workload,
        cluster,
        tuple(candidates),
        tuple(weeks),
        results,
        tuple(_over(results, range(len(weeks)), candidate) for candidate in range(len(candidates))),
        tuple(fold for fold in folds if fold.easy.jobs),
        candidates[choose(results, range(len(weeks)), len(candidates))],
    )


def choose(results: Results, weeks: Sequence[int], candidates: int) -> int:
    """The candidate with the lowest mean bounded slowdown over these weeks; of equals the first.

    A candidate under which a reserved job started later than promised, and later than under EASY (candidate 0), is
    excluded.
    """
    allowed_s = max(0.0, _over(results, weeks, 0).worst_delay_s or 0.0) + ON_TIME_S
    best, best_slowdown = 0, _over(results, weeks, 0).slowdown
    for candidate in range(1, candidates):
        figures = _over(results, weeks, candidate)
        if figures.slowdown < best_slowdown and (figures.worst_delay_s or 0.0) <= allowed_s:
            best, best_slowdown = candidate, figures.slowdown
    return best


def _fold(weeks: Sequence[Week], candidates: Sequence[Candidate], results: Results, week: int) -> Fold:
    chosen = choose(results, range(week), len(candidates))
    best = choose(results, [week], len(candidates))
    return Fold(
        weeks[week],
        candidates[chosen],
        results[week, chosen],
        results[week, 0],
        candidates[best],
        results[week, best],
    )


def _over(results: Results, weeks: Sequence[int], candidate: int) -> Figures:
    return together(results[week, candidate] for week in weeks)
