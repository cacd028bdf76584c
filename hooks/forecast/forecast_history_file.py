"""What forecasts learn from, as passes keep it in one file: past runs, and how earlier forecasts turned out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.forecast.past_runs import PastRuns
from policy.forecast.forecast_hits_and_correction import ForecastRecord, RecordError


def read_history(data: Mapping[str, Any]) -> tuple[PastRuns, ForecastRecord]:
    """The past runs and the record of hits and misses in a published history; empty for what cannot be read."""
    try:
        record = ForecastRecord.from_data(data.get("record"))
    except RecordError:
        record = ForecastRecord()
    return PastRuns.from_data(data), record


def history_data(past: PastRuns, record: ForecastRecord) -> dict[str, Any]:
    """The file's data, for :func:`read_history`."""
    return {**past.to_data(), "record": record.to_data()}
