"""Publishes the forecast beside the journal, from a process of its own: a pass only starts it, and never waits for it.

At most one is made at a time, and one in each interval of the settings. The process has the lowest priority and a limit
on its processor time. It replaces whole files, so a kill at any point leaves the forecast before. Its failure is told
by the next pass.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hooks.forecast.forecast_within_time import Within, forecast_within
from hooks.forecast.past_runs import PastRuns
from hooks.forecast.published_forecast import publishable
from hooks.store.detached_process import start_detached
from hooks.store.folder_lock import locked
from hooks.store.state_files import FORECAST, FORECAST_BEGUN, FORECAST_HISTORY, State
from policy.forecast.forecast_record import ForecastRecord, RecordError
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.ledger_between_passes import Ledger
from policy.model.printable_text import printable
from policy.settings.site_settings import ForecastSettings, Settings
from policy.state.cluster_snapshot import Snapshot

_LOCK = "forecast.lock"
_NICE = 19
_HARD_CPU_FACTOR = 4
_LONGEST_PROBLEM = 300


def is_due(state: State, settings: ForecastSettings, now_s: float) -> bool:
    """Whether the next forecast is due: an interval after the last one was begun, however that one ended."""
    if not settings.interval_s:
        return False
    begun_s = state.read_published(FORECAST_BEGUN).get("time_s")
    return not isinstance(begun_s, (int, float)) or not 0 <= now_s - begun_s < settings.interval_s


def start_forecast(
    state: State,
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    *,
    start: Callable[[Callable[[], None]], None] = start_detached,
) -> list[str]:
    """Begin a forecast of what the pass has read. Returns a sentence if it cannot be begun, or the last one failed.
    Never raises: no pass fails for lack of a forecast."""
    failed = state.read_published(FORECAST_BEGUN).get("failed")
    notes = [f"the last forecast failed: {printable(str(failed)[:_LONGEST_PROBLEM])}"] if failed else []
    try:
        state.publish(FORECAST_BEGUN, {"time_s": snapshot.time_s}, shared=False)
        start(lambda: _in_background(state, snapshot, ledger, settings))
    except OSError as error:
        notes.append(f"no forecast could be begun: {error.strerror or error}")
    return notes


def _in_background(state: State, snapshot: Snapshot, ledger: Ledger, settings: Settings) -> None:
    """In the process of its own: make the forecast, unless one is still being made."""
    # Everything that is there was made before and stays: to look for garbage in it again and again would cost much.
    gc.freeze()
    os.nice(_NICE)
    hard_s = int(_HARD_CPU_FACTOR * settings.forecast.cpu_s) + 10
    resource.setrlimit(resource.RLIMIT_CPU, (hard_s, hard_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    descriptor = os.open(state.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with locked(descriptor):
            publish_forecast(state, snapshot, ledger, settings)
    except BlockingIOError:
        return
    except Exception as error:  # noqa: BLE001 - the next pass tells it
        with contextlib.suppress(OSError):
            failed = f"{type(error).__name__}: {error}"[:_LONGEST_PROBLEM]
            state.publish(FORECAST_BEGUN, {"time_s": snapshot.time_s, "failed": failed}, shared=False)


def publish_forecast(state: State, snapshot: Snapshot, ledger: Ledger, settings: Settings) -> None:
    """Bring the history up to date, then publish the forecast: first ones after some draws, and the whole one.

    Raises OSError if the disk does not take it; the files are then as they were. An accounting log that cannot be read
    adds nothing to the history.
    """
    begun_s = time.process_time()
    past, record = read_history(state.read_published(FORECAST_HISTORY))
    known = past
    with contextlib.suppress(OSError):
        past = past.read_on(accounting_folder(state))
    history = RunTimeHistory(past.runs)
    _note_starts(record, past.started, snapshot)
    _publish_history(state, past, record)
    within = Within(cpu_s=settings.forecast.cpu_s, draws=settings.forecast.draws)
    result = None
    for result in forecast_within(snapshot, ledger, settings, history, record, within):
        published = publishable(result, len(past.runs), time.process_time() - begun_s)
        state.publish(FORECAST, published.to_data(), shared=True)
    if result is not None and result.is_whole:
        record.note(result.noted())
        _publish_history(state, past, record)
    del known


def accounting_folder(state: State) -> Path:
    """PBS's accounting log, in the same PBS_HOME."""
    return state.path.parent / "server_priv" / "accounting"


def read_history(data: Mapping[str, Any]) -> tuple[PastRuns, ForecastRecord]:
    """The past runs and the record of hits and misses in a published history; empty for what cannot be read."""
    try:
        record = ForecastRecord.from_data(data.get("record"))
    except RecordError:
        record = ForecastRecord()
    return PastRuns.from_data(data), record


def _publish_history(state: State, past: PastRuns, record: ForecastRecord) -> None:
    text = json.dumps({**past.to_data(), "record": record.to_data()})
    state.replace(FORECAST_HISTORY, text, shared=True)


def _note_starts(record: ForecastRecord, started: Mapping[str, float], snapshot: Snapshot) -> None:
    """Tell the record which jobs have started, by the log and by what runs, and which are gone without."""
    cluster = snapshot.cluster()
    running = {run.job.id: run.start_s for run in cluster.runs.values()}
    for job_id in record.waiting():
        at_s = started.get(job_id, running.get(job_id))
        if at_s is not None:
            record.started(job_id, at_s)
        elif job_id not in cluster.jobs:
            record.deleted(job_id)
