"""Judges forecasts by a replay: at moments spread over it all waiting jobs are forecast, and held against their starts.

Nothing is learned from what comes later: run times, the record and the waits of others are those known at the moment.
Beside the forecast stand an estimate from requested walltimes and a bound from the waits of like jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import median
from typing import Callable, NamedTuple

from policy import Changes, Finished, Job, Ledger, Snapshot
from policy.forecast.arrivals_resampled_from_past_days import UsualArrivals
from policy.forecast.forecast import Bounds, forecast
from policy.forecast.forecast_hits_and_correction import ForecastRecord
from policy.forecast.run_time_history import RunTimeHistory
from policy.settings.site_settings import Settings
from sim.forecast.starts_planned_by_walltimes import planned_starts
from sim.forecast.wait_bound_from_past_waits import WaitHistory, kind_of
from sim.replay.named_policies import Policy
from sim.replay.replay import replay
from sim.workload.workload import Cluster, Workload

CLASSES_S = (3600.0, 4 * 3600.0, 24 * 3600.0, inf)
"""The classes of wait, by what the wait then was: below each of these."""


class Held(NamedTuple):
    """One forecast of one job beside what then happened: waits from the moment of the forecast on, in seconds.

    ``wait_s`` is what happened; None in a forecast is a moment beyond what it looks at, or unknown.
    """

    wait_s: float
    half_s: float | None
    nine_tenths_s: float | None
    last_s: float | None
    walltime_s: float | None
    history_s: float | None


class Judgement(NamedTuple):
    """All forecasts of a policy that were held against a start. ``partial``: moments whose forecast was not whole."""

    policy: str
    held: Sequence[Held]
    moments: int
    partial: int


class Figures(NamedTuple):
    """Shares of the starts, and medians of absolute errors in seconds; None without forecasts."""

    forecasts: int
    within_p50: float | None
    within_p90: float | None
    within_last: float | None
    median_abs_error_s: float | None
    walltime_median_abs_error_s: float | None
    history_within_p90: float | None


def evaluate(
    workload: Workload,
    cluster: Cluster,
    policy: Policy,
    moments: int,
    bounds: Bounds,
    *,
    with_arrivals: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Judgement:
    """Replay the workload, and forecast at so many of its submissions, evenly spread. ``progress`` is called now and
    then with the number of ended jobs."""
    observer = Judge(workload, cluster, policy.settings, moments, bounds, with_arrivals=with_arrivals)
    replay(workload, cluster, policy, progress, observer=observer)
    return Judgement(policy.name, observer.held, observer.moments, observer.partial)


def figures_of(held: Sequence[Held]) -> Figures:
    """What the forecasts come to. A forecast that names no moment holds, since it says nothing earlier; its error is
    left out."""
    bound = [each for each in held if each.history_s is not None]
    return Figures(
        len(held),
        _share([each.half_s is None or each.wait_s <= each.half_s for each in held]),
        _share([each.nine_tenths_s is None or each.wait_s <= each.nine_tenths_s for each in held]),
        _share([each.last_s is None or each.wait_s <= each.last_s for each in held]),
        _error([(each.wait_s, each.half_s) for each in held]),
        _error([(each.wait_s, each.walltime_s) for each in held]),
        _share([each.history_s is not None and each.wait_s <= each.history_s for each in bound]),
    )


def by_class(held: Sequence[Held]) -> list[tuple[float, Figures]]:
    """The figures of each class of wait: its upper end, and what its forecasts come to."""
    classes, from_s = [], 0.0
    for until_s in CLASSES_S:
        classes.append((until_s, figures_of([each for each in held if from_s <= each.wait_s < until_s])))
        from_s = until_s
    return classes


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def _error(pairs: Sequence[tuple[float, float | None]]) -> float | None:
    errors = [abs(wait_s - forecast_s) for wait_s, forecast_s in pairs if forecast_s is not None]
    return median(errors) if errors else None


class _Waiting(NamedTuple):
    """A forecast that waits for its job's start."""

    at_s: float
    half_s: float | None
    nine_tenths_s: float | None
    last_s: float | None
    walltime_s: float | None
    history_s: float | None


class Judge:
    """The observer of the replay: it learns what has ended, forecasts at its moments, and holds against starts."""

    def __init__(
        self, workload: Workload, cluster: Cluster, settings: Settings, moments: int, bounds: Bounds, *,
        with_arrivals: bool,
    ) -> None:  # fmt: skip
        submits_s = [job.submit_s for job in workload.jobs]
        count = len(submits_s)
        wanted = sorted({submits_s[index * count // moments] for index in range(moments)}) if count else []
        self._moments_s = [*wanted, inf]
        self._cores = cluster.cores
        self._settings = settings
        self._bounds = bounds
        self._history = RunTimeHistory()
        self._record = ForecastRecord()
        self._waits = WaitHistory()
        self._with_arrivals = with_arrivals
        self._submitted: dict[str, Job] = {}
        self._past: list[Job] = []
        self._open: dict[str, list[_Waiting]] = {}
        self.held: list[Held] = []
        self.moments = 0
        self.partial = 0
        self.next_s = self._moments_s[0]

    def look(self, until_s: float, snapshot: Snapshot, ledger: Ledger) -> None:
        """Forecast at each moment that has come, from the state then."""
        while self.next_s < until_s:
            self._forecast(snapshot.apply(Changes(self.next_s)), ledger)
            self.moments += 1
            self.next_s = self._moments_s[self.moments]

    def happened(self, now_s: float, submitted: Sequence[Job], ended: Sequence[Finished]) -> None:
        """Learn from the runs that ended, and know of the jobs."""
        for job in submitted:
            self._submitted[job.id] = job
            if self._with_arrivals:
                self._past.append(job)
        self._history.remember(ended)

    def started(self, job_id: str, now_s: float) -> None:
        """Hold the job's forecasts against its start."""
        job = self._submitted.pop(job_id)
        self._record.started(job_id, now_s)
        self._waits.add(kind_of(job.cores, job.estimate_s), now_s - job.submit_s)
        for at_s, half_s, nine_tenths_s, last_s, walltime_s, history_s in self._open.pop(job_id, ()):
            self.held.append(Held(now_s - at_s, half_s, nine_tenths_s, last_s, walltime_s, history_s))

    def _forecast(self, snapshot: Snapshot, ledger: Ledger) -> None:
        now_s, cluster = snapshot.time_s, snapshot.cluster()
        if not cluster.jobs:
            return
        planned = planned_starts(now_s, self._cores, list(cluster.runs.values()), [entry[5] for entry in cluster.order])
        jobs = dict(cluster.jobs)
        arrivals = UsualArrivals(self._past, self._past[0].submit_s) if self._with_arrivals else None
        drawn = forecast(
            snapshot, ledger, self._settings, self._history, record=self._record, bounds=self._bounds,
            arrivals=arrivals,
        )  # fmt: skip
        self._record.note(drawn.noted())
        self.partial += not drawn.is_whole
        for job_id, each in drawn.jobs.items():
            job = jobs[job_id]
            if job_id not in self._submitted:
                continue  # It has run before: a preempted job's next start is no start.
            submit_s = job.submit_s
            bound_s = self._waits.bound_s(kind_of(job.cores, job.estimate_s), now_s - submit_s)
            self._open.setdefault(job_id, []).append(
                _Waiting(
                    now_s,
                    _since(each.half_s, now_s),
                    _since(each.nine_tenths_s, now_s),
                    _since(each.last_s, now_s),
                    _since(planned.get(job_id), now_s),
                    _since(bound_s, now_s - submit_s),
                )
            )


def _since(at_s: float | None, now_s: float) -> float | None:
    return None if at_s is None else at_s - now_s
