"""Forecasts within so many seconds of processor time, better and better ones, for a cluster of any size.

On a large cluster the time does not suffice to look far ahead. Then the forecast looks less far ahead rather than at
fewer jobs: a case that is cut off has found the early starts alone. How far it can look is tried first, with twice as
many passes each time.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import Callable, NamedTuple

from policy.forecast.forecast import Bounds, Forecast, Forecaster
from policy.forecast.forecast_record import ForecastRecord
from policy.forecast.run_forward import Forward
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot

_TRIED_PART = 10
"""Trying how far to look ends once one try has taken a tenth of the time."""
_FIRST_PASSES = 4
_LEAST_DRAWS = 5
_LEAST_HORIZON_S = 60.0


class Within(NamedTuple):
    """What a forecast may cost: seconds of processor time, how many draws it makes at most, how far it looks at most,
    and the seed."""

    cpu_s: float = 20.0
    draws: int = 30
    horizon_s: float = 30 * 86400.0
    seed: int = 1


def forecast_within(
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    history: RunTimeHistory,
    record: ForecastRecord | None,
    within: Within,
    clock: Callable[[], float] = time.process_time,
    wanted: Collection[str] | None = None,
) -> Iterator[Forecast]:
    """The forecast after its first draw, after twice as many, and so on, and the last one; at least one. It is of all
    waiting jobs, or of the ``wanted`` ones alone."""
    begun_s = clock()
    horizon_s, draw_s = find_horizon_s(snapshot, ledger, settings, within, clock, wanted)
    left_s = within.cpu_s - (clock() - begun_s)
    # One more than the draws is made, in which all jobs run their full time.
    draws = within.draws if draw_s <= 0 else max(_LEAST_DRAWS, min(within.draws, int(left_s / draw_s) - 1))
    bounds = Bounds(draws=draws, horizon_s=horizon_s, seed=within.seed)
    forecaster = Forecaster(snapshot, ledger, settings, history, record=record, bounds=bounds, wanted=wanted)
    shown, made = 2, 0
    while forecaster.step():
        made += 1
        if made == shown:
            shown *= 2
            yield forecaster.result()
        if clock() - begun_s >= within.cpu_s and made > 1:
            break
    yield forecaster.result()


def find_horizon_s(
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    within: Within,
    clock: Callable[[], float],
    wanted: Collection[str] | None = None,
) -> tuple[float, float]:
    """How far ahead the time suffices to look, and about what a draw costs, both in seconds."""
    now_s, cluster = snapshot.time_s, snapshot.cluster()
    waiting = [job.id for job in cluster.jobs.values() if not job.blocked and (wanted is None or job.id in wanted)]
    if not waiting:
        return within.horizon_s, 0.0
    ends_s = {run.id: now_s if run.exiting else max(now_s, run.end_s) for run in cluster.runs.values()}
    forward, passes = Forward(snapshot, ledger, settings, waiting), _FIRST_PASSES
    while True:
        begun_s = clock()
        draw = forward.draw(ends_s, lambda job: job.estimate_s, now_s + within.horizon_s, passes)
        cost_s = clock() - begun_s
        if draw.complete:
            return within.horizon_s, cost_s
        if cost_s >= within.cpu_s / _TRIED_PART:
            return max(_LEAST_HORIZON_S, min(within.horizon_s, draw.until_s - now_s)), cost_s
        passes *= 2
