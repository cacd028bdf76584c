"""Makes better and better forecasts within a limit of processor time, for a cluster of any size.

The cost of a decision is measured first; where the time suffices for too few, the forecast makes fewer draws and looks
less far ahead. Of very many waiting jobs only the first in line are run forward, and the others start later than these.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from typing import Callable, NamedTuple

from policy.forecast.first_jobs_in_line import jobs_by_claim
from policy.forecast.forecast import USUAL, Bounds, Forecast, Forecaster
from policy.forecast.forecast_hits_and_correction import ForecastRecord
from policy.forecast.run_time_history import RunTimeHistory
from policy.forecast.simulate_forward import Forward, LimitsFrom
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Changes, Snapshot

_TRIED_PART = 10
"""Trying ends once one try has taken a tenth of the time; each try has twice as many decisions as the one before."""
_FIRST_PASSES = 4
_OVER = 1.5
"""Decisions late in a case may cost more than those that were tried: no draw begins after this part of the time."""
_LEAST_HORIZON_S = 60.0
MOST_JOBS = 5000
"""So many waiting jobs are run forward, the first ones in line."""
_LEAST_PASSES, _LEAST_DRAWS = 400, 10
"""A draw gets so many decisions, if need be with fewer draws; below so many draws, nine of ten means little."""


class Within(NamedTuple):
    """What a forecast may cost: seconds of processor time, how many draws it makes at most, how far it looks at most,
    and the seed."""

    cpu_s: float = 20.0
    draws: int = 30
    horizon_s: float = 30 * 86400.0
    seed: int = 1


class PartialForecast(NamedTuple):
    """A forecast, and the jobs further back in line that it leaves out."""

    forecast: Forecast
    left_out: Sequence[str]


def forecast_within(
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    history: RunTimeHistory,
    record: ForecastRecord | None,
    within: Within,
    clock: Callable[[], float] = time.process_time,
    wanted: Collection[str] | None = None,
    planned: Sequence[LimitsFrom] = (),
) -> Iterator[PartialForecast]:
    """The forecast after its first draw, after twice as many, and so on, and the last one; at least one. It is of all
    waiting jobs, or of the ``wanted`` ones alone. ``planned``: limits that change later, in order of time."""
    begun_s = clock()
    left_out = find_left_out([(snapshot, settings)], ledger)
    snapshot = snapshot.apply(Changes(snapshot.time_s, gone=left_out)) if left_out else snapshot
    cluster = snapshot.cluster()
    awaited = [job.id for job in cluster.jobs.values() if not job.blocked and (wanted is None or job.id in wanted)]
    forward = Forward(snapshot, ledger, settings, awaited, USUAL.grain)
    tried = _try(forward, within, clock)
    passes, draws = USUAL.passes, within.draws
    if tried.passes:
        # In one more than the draws all jobs run their full time; each gets the same part of the decisions.
        left_s = within.cpu_s - (clock() - begun_s)
        affordable = left_s / max(tried.cost_s, 1e-6) * tried.passes
        # A try that went to its end tells how many decisions a draw needs; run times drawn may need more.
        least = min(_LEAST_PASSES, 2 * tried.passes) if tried.complete else _LEAST_PASSES
        draws = max(min(_LEAST_DRAWS, draws), min(draws, int(affordable / least) - 1))
        passes = int(min(passes, max(draws + 1, affordable)))
    bounds = Bounds(draws=draws, horizon_s=within.horizon_s, passes=passes, seed=within.seed)
    forecaster = Forecaster(
        snapshot, ledger, settings, history, record=record, bounds=bounds, wanted=wanted, planned=planned
    )
    shown, made = 2, 0
    while forecaster.step():
        made += 1
        if made == shown:
            shown *= 2
            yield PartialForecast(forecaster.result(), left_out)
        if clock() - begun_s >= _OVER * within.cpu_s and made > 1:
            break
    yield PartialForecast(forecaster.result(), left_out)


def find_left_out(sides: Sequence[tuple[Snapshot, Settings]], ledger: Ledger) -> list[str]:
    """The jobs that are behind the first :data:`MOST_JOBS` in line on every side: what a change moves to the front, or
    away from it, is left out on none."""
    if all(len(snapshot.cluster().jobs) <= MOST_JOBS for snapshot, _ in sides):
        return []
    lines = [jobs_by_claim(snapshot, ledger, settings) for snapshot, settings in sides]
    first = {job_id for line in lines for job_id in line[:MOST_JOBS]}
    return list(dict.fromkeys(job_id for line in lines for job_id in line if job_id not in first))


def find_horizon_s(
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    within: Within,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """How far ahead the time suffices to look with about ten draws that go on until there, in seconds."""
    forward = Forward(snapshot, ledger, settings, (), USUAL.grain)
    tried = _try(forward, within, clock, to_horizon=True)
    if tried.complete:
        return within.horizon_s
    return max(_LEAST_HORIZON_S, min(within.horizon_s, tried.until_s - snapshot.time_s))


class _Tried(NamedTuple):
    """The last try: its decisions, their cost, the moment it reached, and whether that was the horizon."""

    passes: int
    cost_s: float
    until_s: float
    complete: bool


def _try(forward: Forward, within: Within, clock: Callable[[], float], *, to_horizon: bool = False) -> _Tried:
    """Run forward with more and more decisions, all jobs running their full time."""
    now_s, passes = forward.snapshot.time_s, _FIRST_PASSES
    runs = forward.snapshot.cluster().runs.values()
    ends_s = {run.id: now_s if run.exiting else max(now_s, run.end_s) for run in runs}
    while True:
        begun_s = clock()
        horizon_s = now_s + within.horizon_s
        draw = forward.draw(ends_s, lambda job: job.estimate_s, horizon_s, passes, to_horizon=to_horizon)
        cost_s = clock() - begun_s
        if draw.complete or cost_s >= within.cpu_s / _TRIED_PART:
            return _Tried(draw.passes, cost_s, draw.until_s, draw.complete)
        passes *= 2
