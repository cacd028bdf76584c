"""When each waiting job will start: the moments that half, and nine in ten, of many draws stay below, corrected by the
forecast's record.

A draw is the cluster run forward with run times taken from past ones. Another draw, in which all jobs run as long as
they asked for, gives the last moment (docs/forecast.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from policy.eligibility.longest_run_by_prime_time import explain_too_long, find_longest_run_s
from policy.forecast.arrivals_resampled_from_past_days import UsualArrivals
from policy.forecast.forecast_hits_and_correction import GRACE_S, ForecastRecord, Noted
from policy.forecast.random_numbers_from_seed import DrawnNumbers
from policy.forecast.run_time_history import RunTimeHistory
from policy.forecast.simulate_forward import Draw, DrawnStart, Forward, LimitsFrom
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Queue
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot

_COARSEST = 0.1
_JOBS_PER_GRAIN = 250_000
"""Where more than ``grain`` times so many jobs wait, the grain grows with their number, up to the coarsest: a decision
about many jobs takes longer, and there are more ends."""


class Bounds(NamedTuple):
    """What a forecast does at most: so many draws, so far ahead, and so many decisions in all; and the seed.

    ``grain``: ends of runs that differ by less than this part of the time ahead are one event (see :class:`Forward`).
    """

    draws: int = 30
    horizon_s: float = 30 * 86400.0
    passes: int = 200_000
    seed: int = 1
    grain: float = 0.02


USUAL = Bounds()


class JobForecast(NamedTuple):
    """The forecast of one job, in seconds of the snapshot's clock. A moment is None where it is beyond the horizon.

    ``half_s`` and ``nine_tenths_s``: it starts before them in half, and in nine of ten, of the cases. ``last_s``: when
    it starts if all jobs run as long as they asked for, and never before ``nine_tenths_s``. ``allocation``: where, in
    the draw nearest to ``half_s``; ``after``: the run whose end most often lets it start, in ``after_draws`` of the
    draws ("" if none does).
    ``drawn_half_s`` and ``drawn_nine_tenths_s`` are the waits as drawn, before the correction.
    """

    id: str
    half_s: float | None
    nine_tenths_s: float | None
    last_s: float | None
    allocation: Allocation | None
    after: str
    after_draws: int
    drawn_half_s: float | None
    drawn_nine_tenths_s: float | None


class Forecast(NamedTuple):
    """What is known so far: of ``draws_wanted`` draws ``draws`` were made. ``horizon_s`` is the moment until which it
    looks, ``horizon_wanted_s`` the one asked for: where the decisions allowed do not take every draw that far, all end
    with the shortest. ``passes``: the decisions that it took.

    ``jobs`` has each job that may start by itself, ``unknown`` each other one with what it waits for.
    ``with_arrivals``: jobs to come were drawn too; else the forecast leaves them out. ``factors`` are those of the
    record.
    """

    at_s: float
    horizon_s: float
    jobs: Mapping[str, JobForecast]
    unknown: Mapping[str, str]
    draws: int
    draws_wanted: int
    passes: int
    with_arrivals: bool
    factors: tuple[float, float]
    horizon_wanted_s: float

    @property
    def is_whole(self) -> bool:
        """Whether all draws were made and went as far as asked for; else the decisions allowed were too few."""
        return self.draws == self.draws_wanted and self.horizon_s == self.horizon_wanted_s

    def noted(self) -> Iterator[Noted]:
        """What a record keeps of it."""
        for job in self.jobs.values():
            if job.drawn_half_s is not None and job.drawn_nine_tenths_s is not None:
                corrected = (None if at_s is None else at_s - self.at_s for at_s in (job.half_s, job.nine_tenths_s))
                yield Noted(job.id, self.at_s, job.drawn_half_s, job.drawn_nine_tenths_s, *corrected)


class Forecaster:
    """A forecast in the making: each :meth:`step` is one draw, after which :meth:`result` is a little better.

    With ``wanted`` only these jobs are forecast, and a draw ends once they have started. ``planned`` are limits that
    change later, in order of time.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        ledger: Ledger,
        settings: Settings,
        history: RunTimeHistory,
        *,
        record: ForecastRecord | None = None,
        bounds: Bounds = USUAL,
        arrivals: UsualArrivals | None = None,
        wanted: Collection[str] | None = None,
        planned: Sequence[LimitsFrom] = (),
    ) -> None:
        self._bounds = bounds
        self._arrivals = arrivals
        self._history = history
        self._now_s = now_s = snapshot.time_s
        self._horizon_s = self._horizon_wanted_s = now_s + bounds.horizon_s
        cluster = snapshot.cluster()
        longest_s = {name: find_longest_run_s(queue, now_s) for name, queue in cluster.queues.items()}
        why_never = {
            job.id: _queue_keeps(job, cluster.queues, longest_s) or job.blocked for job in cluster.jobs.values()
        }
        waiting = [job for job in cluster.jobs.values() if not why_never[job.id]]
        self._jobs: dict[str, Job] = {job.id: job for job in waiting if wanted is None or job.id in wanted}
        self._unknown = {job_id: why for job_id, why in why_never.items() if why}
        self._run_ids = frozenset(cluster.runs).union(job.id for job in waiting)
        grain = max(bounds.grain, min(_COARSEST, len(waiting) / _JOBS_PER_GRAIN))
        self._forward = Forward(snapshot, ledger, settings, self._jobs, grain, planned)
        self._promises = ledger.promises
        self._factors = record.factors(now_s) if record is not None else (1.0, 1.0)
        self._full_ends_s: dict[str, float] = {}
        self._begins: dict[str, tuple[float, Sequence[float]]] = {}
        for run in cluster.runs.values():
            self._full_ends_s[run.id] = now_s if run.exiting else max(now_s, run.end_s)
            begin_s = run.start_s - run.job.saved_s
            times = (0.0,) if run.exiting else history.run_times(run.job, max(0.0, now_s - begin_s))
            self._begins[run.id] = (begin_s, times or (UNLIMITED_S,))
        self._times: dict[str, Sequence[float]] = {}
        # By what runs and jobs are called, so that the order in which a snapshot has them does not matter.
        self._strata = {
            each: DrawnNumbers(bounds.seed, place).strata(bounds.draws)
            for place, each in enumerate(sorted({*cluster.runs, *cluster.jobs}))
        }
        self._full: Draw | None = None
        self._draws: list[Draw] = []
        self._passes = 0
        self._is_over = not self._jobs

    def step(self) -> bool:
        """Make one more draw, the first of which has all jobs run their full time. False once there is none to make."""
        if self._is_over or len(self._draws) == self._bounds.draws:
            return False
        to_make = self._bounds.draws - len(self._draws) + (self._full is None)
        passes = (self._bounds.passes - self._passes) // to_make
        if passes == 0:
            self._is_over = True
            return False
        if self._full is None:
            draw = self._forward.draw(self._full_ends_s, lambda job: job.estimate_s, self._horizon_s, passes)
        else:
            draw = self._drawn(len(self._draws), passes)
        self._passes += draw.passes
        if not draw.complete:
            # Beyond where a draw has ended its starts are unknown, not late. So no draw is looked at beyond it.
            self._horizon_s = draw.until_s
        if self._full is None:
            self._full = draw
        else:
            self._draws.append(draw)
        return True

    def draw(self, number: int) -> Draw:
        """One draw by itself, of those from 0 on, until the horizon: equal seeds give equal run times for jobs of the
        same name."""
        return self._drawn(number, self._bounds.passes, to_horizon=True)

    def result(self) -> Forecast:
        """The forecast as far as it is made."""
        return Forecast(
            self._now_s,
            self._horizon_s,
            {job_id: self._forecast_of(job_id) for job_id in self._jobs},
            self._unknown,
            len(self._draws),
            self._bounds.draws if self._jobs else 0,
            self._passes,
            self._arrivals is not None,
            self._factors,
            self._horizon_wanted_s,
        )

    def _drawn(self, draw: int, passes: int, *, to_horizon: bool = False) -> Draw:
        now_s, strata = self._now_s, self._strata
        others, coming = DrawnNumbers(self._bounds.seed, -1 - 2 * draw), DrawnNumbers(self._bounds.seed, -2 - 2 * draw)
        ends_s = {
            run_id: max(now_s, begin_s + _at(times, strata[run_id][draw]))
            for run_id, (begin_s, times) in self._begins.items()
        }

        def run_time(job: Job) -> float:
            known = strata.get(job.id)
            return _at(self._times_of(job), others.next() if known is None else known[draw])

        arrivals = self._arrivals.from_now(now_s, coming) if self._arrivals is not None else ()
        return self._forward.draw(ends_s, run_time, self._horizon_s, passes, arrivals, to_horizon=to_horizon)

    def _times_of(self, job: Job) -> Sequence[float]:
        times = self._times.get(job.id)
        if times is None:
            times = self._history.run_times(job, max(0.0, job.saved_s)) or (UNLIMITED_S,)
            self._times[job.id] = times
        return times

    def _forecast_of(self, job_id: str) -> JobForecast:
        now_s, count = self._now_s, len(self._draws)
        found = [draw.starts[job_id] for draw in self._draws if job_id in draw.starts]
        starts = sorted((start for start in found if start.at_s <= self._horizon_s), key=lambda start: start.at_s)
        half, nine_tenths = _at_share(starts, count, 0.5), _at_share(starts, count, 0.9)
        half_s, nine_tenths_s = self._corrected(job_id, half, 0), self._corrected(job_id, nine_tenths, 1)
        full = self._full.starts.get(job_id) if self._full is not None else None
        last_s = full.at_s if full is not None and full.at_s <= self._horizon_s else None
        if half_s is not None and nine_tenths_s is not None:
            nine_tenths_s = max(half_s, nine_tenths_s)
        if last_s is not None:
            last_s = None if count and nine_tenths_s is None else max(last_s, nine_tenths_s or last_s)
        after, after_draws = self._after(starts)
        return JobForecast(
            job_id, half_s, nine_tenths_s, last_s, _nearest(starts, half_s), after, after_draws,
            None if half is None else half.at_s - now_s, None if nine_tenths is None else nine_tenths.at_s - now_s,
        )  # fmt: skip

    def _corrected(self, job_id: str, drawn: DrawnStart | None, which: int) -> float | None:
        """The moment of a drawn start, corrected: by its promise, unless that moves in the draw."""
        if drawn is None:
            return None
        wait_s = drawn.at_s - self._now_s
        at_s = self._now_s + max(0.0, (wait_s + GRACE_S) * self._factors[which] - GRACE_S)
        if drawn.as_promised and self._promises[job_id] > self._now_s:
            at_s = min(at_s, self._promises[job_id])
        return at_s if at_s <= self._horizon_s else None

    def _after(self, starts: Sequence[DrawnStart]) -> tuple[str, int]:
        """The run whose end most often lets the job start, of those that are known now."""
        counts: dict[str, int] = {}
        for start in starts:
            if start.after in self._run_ids:
                counts[start.after] = counts.get(start.after, 0) + 1
        after = max(counts, key=lambda run_id: (counts[run_id], run_id), default="")
        return after, counts.get(after, 0)


def forecast(
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    history: RunTimeHistory,
    *,
    record: ForecastRecord | None = None,
    bounds: Bounds = USUAL,
    arrivals: UsualArrivals | None = None,
) -> Forecast:
    """The whole forecast, as far as its bounds allow. Pure: the same values give the same forecast."""
    forecaster = Forecaster(snapshot, ledger, settings, history, record=record, bounds=bounds, arrivals=arrivals)
    while forecaster.step():
        pass
    return forecaster.result()


def _queue_keeps(job: Job, queues: Mapping[str, Queue], longest_s: Mapping[str, float]) -> str:
    """Why the job's queue, as it is now, will never start it; "" if it will."""
    queue = queues.get(job.queue)
    if queue is None or not queue.managed:
        return f"queue {job.queue}, which pbsteer does not manage"
    if not queue.started:
        return f"queue {job.queue}, which is stopped"
    longest_of_queue_s = longest_s[job.queue]
    return explain_too_long(job, longest_of_queue_s) if job.left_s > longest_of_queue_s else ""


def _at(times: Sequence[float], number: float) -> float:
    """The one of these that a number from 0 until before 1 stands for."""
    return times[int(number * len(times))]


def _at_share(starts: Sequence[DrawnStart], draws: int, share: float) -> DrawnStart | None:
    """The start that the share of the draws stays below; None if it is beyond the horizon, or nothing was drawn."""
    index = ceil(draws * share) - 1
    return starts[index] if 0 <= index < len(starts) else None


def _nearest(starts: Sequence[DrawnStart], at_s: float | None) -> Allocation | None:
    if not starts or at_s is None:
        return None
    return min(starts, key=lambda start: abs(start.at_s - at_s)).allocation
