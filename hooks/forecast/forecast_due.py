"""Decides whether a pass begins a forecast. It is a module of its own because every pass asks, but few load what
forecasts need.
"""

from __future__ import annotations

from hooks.store.state_files import FORECAST_BEGUN, State
from policy.settings.settings_of_server_and_passes import ForecastSettings


def is_forecast_due(state: State, settings: ForecastSettings, now_s: float) -> bool:
    """Whether one is due: an interval after the last one was begun, however that one ended, or the clock went back."""
    if not settings.interval_s:
        return False
    begun_s = state.read_published(FORECAST_BEGUN).get("time_s")
    return not isinstance(begun_s, (int, float)) or not 0 <= now_s - begun_s < settings.interval_s
