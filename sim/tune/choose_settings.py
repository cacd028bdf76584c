"""Chooses backfill settings on a site's own history, and judges the choice on weeks that it was not made on.

The choice is rolling: for each judged week, the setting that was best on all measured weeks before it is compared with
EASY, and with EASY shortest first, on that week alone (docs/tune.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sim.evidence.block_bootstrap_over_weeks import FEWEST_WEEKS as FEWEST_FOLDS
from sim.evidence.block_bootstrap_over_weeks import gain_of, interval_of_gain, samples
from sim.evidence.gains_over_references import Gain
from sim.tune.candidate_settings import Candidate
from sim.tune.replay_weeks import Figures, Results, Week, replay_all, together, weeks_of
from sim.workload.workload import Cluster, Workload

WARM_UP_WEEKS = 1
CHOOSING_WEEKS = 2
FEWEST_WEEKS = WARM_UP_WEEKS + CHOOSING_WEEKS + FEWEST_FOLDS
LEAST_GAIN = 0.01
"""A smaller gain does not count: it would not repay the change."""
SEED = 1
"""That of the intervals and of the shrinking."""
_CHOICES = 400
"""How often a setting is chosen anew for the shrinking."""
ON_TIME_S = 1.0
"""A start at most this much later than promised is on time: times are sums of fractions of a second."""


class TuneError(ValueError):
    """The history is too short for a recommendation; the message says what is needed."""


@dataclass(frozen=True)
class Fold:
    """One judged week: the setting chosen on the weeks before, and the figures of it, of EASY, of the best in
    hindsight, and of EASY shortest first.
    """

    week: Week
    chosen: Candidate
    judged: Figures
    easy: Figures
    best: Candidate
    hindsight: Figures
    shortest: Figures

    @property
    def gain(self) -> float:
        """How far the chosen setting's mean bounded slowdown is below EASY's, as a share of EASY's."""
        return gain(self.judged, self.easy)

    @property
    def gain_over_shortest(self) -> float:
        """The same, below that of EASY shortest first."""
        return gain(self.judged, self.shortest)

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

    @cached_property
    def gain_over_easy(self) -> Gain:
        """The gain of choosing over EASY on the judged weeks, with its interval."""
        return gain_over([fold.judged for fold in self.folds], [fold.easy for fold in self.folds])

    @cached_property
    def gain_over_shortest(self) -> Gain:
        """The gain of choosing over EASY shortest first on the judged weeks, with its interval."""
        return gain_over([fold.judged for fold in self.folds], [fold.shortest for fold in self.folds])

    @property
    def shortest(self) -> Candidate:
        """EASY shortest first; EASY itself where that was not tried."""
        return self.candidates[shortest_of(self.candidates)]

    def gain_on_all_weeks(self, candidate: Candidate, over: Candidate) -> Gain:
        """The gain of one setting over another on all measured weeks, with its interval: as it is for a setting that
        was fixed beforehand."""
        mine, theirs = (self.candidates.index(each) for each in (candidate, over))
        every = range(len(self.weeks))
        return gain_over([self.results[week, mine] for week in every], [self.results[week, theirs] for week in every])

    @cached_property
    def shrunk_gain(self) -> float:
        """The best setting's gain over EASY on all weeks, less what it owes to being the best on just these."""
        apparent = gain(self.totals[self.candidates.index(self.best)], self.totals[0])
        left_out = gain_on_weeks_left_out(self.results, len(self.weeks), len(self.candidates))
        return apparent if left_out is None else min(apparent, left_out)

    @cached_property
    def is_best_proven(self) -> bool:
        """True if choosing beat EASY by at least `LEAST_GAIN`, and both EASY and EASY shortest first with the whole
        interval above zero."""
        return (
            self.best not in (self.candidates[0], self.shortest)
            and self.gain >= LEAST_GAIN
            and is_above_zero(self.gain_over_easy)
            and is_above_zero(self.gain_over_shortest)
        )

    @cached_property
    def is_shortest_proven(self) -> bool:
        """True if EASY shortest first, which needs no choosing, beat EASY on all weeks, with the whole interval above
        zero, and broke no promise."""
        shortest = self.candidates.index(self.shortest)
        found = self.gain_on_all_weeks(self.shortest, self.candidates[0])
        return (
            keeps_promises(self.results, range(len(self.weeks)), shortest)
            and found.gain is not None
            and found.gain >= LEAST_GAIN
            and is_above_zero(found)
        )

    @property
    def worth_it(self) -> bool:
        """True if anything but EASY is recommended."""
        return self.recommended != self.candidates[0]

    @property
    def recommended(self) -> Candidate:
        """The best setting of all weeks if choosing has proven itself; else EASY shortest first if that has; else
        EASY."""
        if self.is_best_proven:
            return self.best
        return self.shortest if self.is_shortest_proven else self.candidates[0]


def is_above_zero(found: Gain) -> bool:
    """Whether a gain's whole interval is above zero."""
    return found.low is not None and found.low > 0


def gain_over(mine: Sequence[Figures], theirs: Sequence[Figures]) -> Gain:
    """The gain in mean bounded slowdown over the same weeks of jobs, with its interval; weeks without jobs are none."""
    both = [(policy, reference) for policy, reference in zip(mine, theirs) if reference.jobs]
    policy, reference = [each.slowdown_sum for each, _ in both], [each.slowdown_sum for _, each in both]
    interval = interval_of_gain(policy, reference, SEED)
    low, high = interval if interval is not None else (None, None)
    jobs = sum(each.jobs for _, each in both)
    return Gain(gain_of(sum(policy), sum(reference)), low, high, jobs, len(both))


def shortest_of(candidates: Sequence[Candidate]) -> int:
    """The index of EASY shortest first; 0 where it was not tried."""
    return next((index for index, each in enumerate(candidates) if each.is_shortest_first_easy), 0)


def gain_on_weeks_left_out(results: Results, weeks: int, candidates: int) -> float | None:
    """The gain over EASY of settings that are chosen as the best, on weeks that they were not chosen on.

    The weeks are drawn again and again with replacement; on each sample the best setting is chosen anew, and held
    against EASY on the weeks that the sample lacks, a third of them. This is the leave-one-out bootstrap (B. Efron, R.
    Tibshirani, "Improvements on cross-validation: the .632+ bootstrap method", JASA 92, 1997). It errs on the careful
    side, since a sample has fewer different weeks to choose on. None without jobs to hold against EASY.
    """
    sums = [[results[week, candidate].slowdown_sum for week in range(weeks)] for candidate in range(candidates)]
    allowed = [0, *(index for index in range(1, candidates) if keeps_promises(results, range(weeks), index))]
    chosen_sum = easy_sum = 0.0
    for drawn in samples(weeks, SEED)[:_CHOICES]:
        best = min(allowed, key=[sum(of_weeks[week] for week in drawn) for of_weeks in sums].__getitem__)
        for week in set(range(weeks)) - set(drawn):
            chosen_sum += sums[best][week]
            easy_sum += sums[0][week]
    return gain_of(chosen_sum, easy_sum)


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
    """The candidate with the lowest mean bounded slowdown over these weeks, of those that keep their promises; of
    equals the first.
    """
    best, best_slowdown = 0, _over(results, weeks, 0).slowdown
    for candidate in range(1, candidates):
        slowdown = _over(results, weeks, candidate).slowdown
        if slowdown < best_slowdown and keeps_promises(results, weeks, candidate):
            best, best_slowdown = candidate, slowdown
    return best


def keeps_promises(results: Results, weeks: Sequence[int], candidate: int) -> bool:
    """Whether no reserved job started later than promised, and later than under EASY (candidate 0).

    A promise that moved for a job with a better claim is not broken, as policies.md has it: quotas that are enforced
    by preemption give way to such a job by intent. What that cost is in :attr:`Figures.worst_moved_delay_s`.
    """
    allowed_s = max(0.0, _over(results, weeks, 0).worst_delay_s or 0.0) + ON_TIME_S
    return (_over(results, weeks, candidate).worst_delay_s or 0.0) <= allowed_s


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
        results[week, shortest_of(candidates)],
    )


def _over(results: Results, weeks: Sequence[int], candidate: int) -> Figures:
    return together(results[week, candidate] for week in weeks)
