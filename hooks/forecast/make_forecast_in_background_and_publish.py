"""Publishes the forecast beside the journal, from a process of its own: a pass only starts it, and never waits for it.

At most one is made at a time, with the lowest priority and a limit on its processor time. It replaces whole files, so a
kill at any point leaves the forecast before; the next pass reports its failure.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from hooks.forecast.forecast_history_file import history_data, read_history
from hooks.forecast.forecast_to_publish import publishable
from hooks.forecast.scale_forecast_to_cpu_time import Within, forecast_within
from hooks.store.detached_process import start_detached
from hooks.store.folder_lock import locked
from hooks.store.forecast_run_and_write_locks import MAKING, WRITING, make_lock_files, open_lock_file, writing
from hooks.store.state_files import FORECAST, FORECAST_BEGUN, FORECAST_HISTORY, State
from policy.forecast.forecast_hits_and_correction import ForecastRecord, Noted
from policy.forecast.run_time_history import RunTimeHistory
from policy.forecast.simulate_forward import LimitsFrom
from policy.model.ledger_between_passes import Ledger
from policy.model.printable_text import printable
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot

Planned = Callable[[], Sequence[LimitsFrom]]

_NICE = 19
_HARD_CPU_FACTOR = 4
_LONGEST_PROBLEM = 300
_NOTED = 10
"""At most so many jobs of one forecast are noted to be held against their starts."""


def start_forecast(
    state: State,
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    planned: Planned = tuple,
    *,
    start: Callable[[Callable[[], None]], None] = start_detached,
) -> list[str]:
    """Begin a forecast of what the pass has read; ``planned`` returns the limits that change later, in order of time,
    and is called beside the pass.

    Returns a sentence if it cannot be begun, or the last one failed. Never raises: no pass fails for lack of a
    forecast."""
    failed = state.read_published(FORECAST_BEGUN).get("failed")
    notes = [f"the last forecast failed: {printable(str(failed)[:_LONGEST_PROBLEM])}"] if failed else []
    try:
        make_lock_files(state.path)
        state.publish(FORECAST_BEGUN, {"time_s": snapshot.time_s}, shared=False)
        start(lambda: _in_background(state, snapshot, ledger, settings, planned))
    except OSError as error:
        notes.append(f"no forecast could be begun: {error.strerror or error}")
    return notes


def _in_background(state: State, snapshot: Snapshot, ledger: Ledger, settings: Settings, planned: Planned) -> None:
    """In the process of its own: make the forecast, unless one is still being made."""
    # Everything that is there was made before and stays: to look for garbage in it again and again would cost much.
    gc.freeze()
    os.nice(_NICE)
    hard_s = int(_HARD_CPU_FACTOR * settings.forecast.cpu_s) + 10
    resource.setrlimit(resource.RLIMIT_CPU, (hard_s, hard_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    files = Files(state)
    try:
        with locked(open_lock_file(state.path, MAKING)):
            publish_forecast(files, snapshot, ledger, settings, planned())
    except (BlockingIOError, FileNotFoundError):
        # Another one is still being made, or the hooks were removed.
        return
    except Exception as error:  # noqa: BLE001 - the next pass tells it
        with contextlib.suppress(OSError):
            failed = f"{type(error).__name__}: {error}"[:_LONGEST_PROBLEM]
            files.replace(FORECAST_BEGUN, {"time_s": snapshot.time_s, "failed": failed}, shared=False)


class Files:
    """The passes' folder, as far as a forecast writes to it; nothing is written while the folder is removed, or
    after."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._descriptor = open_lock_file(state.path, WRITING)

    def replace(self, name: str, data: Mapping[str, Any], *, shared: bool) -> None:
        """Replace a file. Raises OSError, FileNotFoundError if the folder was removed."""
        text = json.dumps(data)
        with writing(self._descriptor):
            self.state.replace(name, text, shared=shared)


def publish_forecast(
    files: Files, snapshot: Snapshot, ledger: Ledger, settings: Settings, planned: Sequence[LimitsFrom] = ()
) -> None:
    """Bring the history up to date, then publish the forecast: first ones after some draws, and the whole one.

    ``planned`` are limits that change later, in order of time. Raises OSError if the disk does not take it; the files
    are then as they were. An accounting log that cannot be read adds nothing to the history.
    """
    state, begun_s = files.state, time.process_time()
    past, record = read_history(state.read_published(FORECAST_HISTORY))
    with contextlib.suppress(OSError):
        past = past.read_on(accounting_folder(state))
    history = RunTimeHistory(past.runs)
    _note_starts(record, past.started, snapshot)
    files.replace(FORECAST_HISTORY, history_data(past, record), shared=True)
    within = Within(cpu_s=settings.forecast.cpu_s, draws=settings.forecast.draws)
    result = None
    made = forecast_within(snapshot, ledger, settings, history, record, within, planned=planned)
    for result, left_out in made:
        published = publishable(result, len(past.runs), time.process_time() - begun_s, left_out)
        files.replace(FORECAST, published.to_data(), shared=True)
    if result is not None and result.is_whole:
        record.note(_some(list(result.noted()), int(snapshot.time_s)))
        files.replace(FORECAST_HISTORY, history_data(past, record), shared=True)


def _some(noted: Sequence[Noted], place: int) -> Sequence[Noted]:
    """A few of the forecasts, other ones each time: the record has room for a number of jobs, and it must reach back
    until these have started."""
    every = max(1, -(-len(noted) // _NOTED))
    return noted[place % every :: every]


def accounting_folder(state: State) -> Path:
    """PBS's accounting log, in the same PBS_HOME."""
    return state.path.parent / "server_priv" / "accounting"


def _note_starts(record: ForecastRecord, started: Mapping[str, float], snapshot: Snapshot) -> None:
    """Tell the record which jobs have started, by the log and by what runs, and which are gone without."""
    cluster = snapshot.cluster()
    starts: dict[str, list[float]] = {}
    for run in cluster.runs.values():
        starts.setdefault(run.job.id, []).append(run.start_s)
    for job_id in record.waiting():
        of_job = starts.get(job_id, [])
        if job_id in started:
            of_job.append(started[job_id])
        for at_s in sorted(of_job):
            record.started(job_id, at_s)
        if not of_job and job_id not in cluster.jobs:
            record.deleted(job_id)
