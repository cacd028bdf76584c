"""A forecast that was made, in the form in which it is published.

It is apart from that form itself (hooks/forecast/published_forecast.py), since programs that only read forecasts need
no engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from hooks.forecast.published_forecast import LATER, NAMED_VNODES, Estimate, PublishedForecast
from policy.forecast.forecast import Forecast, JobForecast
from policy.model.printable_text import printable


def publishable(forecast: Forecast, runs: int, cpu_s: float, left_out: Sequence[str] = ()) -> PublishedForecast:
    """A forecast in the published form; ``runs`` past runs were known, and it took ``cpu_s`` seconds of processor
    time. ``left_out``: jobs further back in line."""
    return PublishedForecast(
        forecast.at_s,
        forecast.horizon_s,
        forecast.draws,
        forecast.draws_wanted,
        runs,
        cpu_s,
        {
            **{job_id: _publishable(each, forecast.draws) for job_id, each in forecast.jobs.items()},
            **dict.fromkeys(left_out, LATER),
        },
        {job_id: printable(text) for job_id, text in forecast.unknown.items()},
        len(left_out),
    )


def _publishable(each: JobForecast, draws: int) -> Estimate:
    if each.half_s is None and each.nine_tenths_s is None and each.last_s is None:
        return LATER
    names = list(dict.fromkeys(spot.vnode for spot in each.allocation.spots)) if each.allocation is not None else []
    return Estimate(
        each.half_s,
        each.nine_tenths_s,
        each.last_s,
        each.after,
        each.after_draws / draws if draws else 0.0,
        tuple(names[:NAMED_VNODES]),
        len(names),
    )
