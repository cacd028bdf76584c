"""Reads the journal of passes in PBS_HOME as it grows: what each pass decided, and the outcome.

Each read takes only what was appended since the last one, within a fixed limit, so a long journal costs the console no
more. At most a group may read the folder; for other users the console works without the journal and says why.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Literal, NamedTuple

from hooks.audit.shared_audit_file import CHANGES
from hooks.forecast.forecast_history_file import read_history
from hooks.forecast.past_runs import PastRuns
from hooks.forecast.published_forecast import PublishedForecast
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles
from hooks.pbs.job_attributes.job_ids_and_states import is_array
from hooks.quota_plan.published_quota_plan import NO_PLAN, PublishedPlan
from hooks.quota_plan.quota_plan_files import QUOTA_PLAN_SHOWN
from hooks.record.day_of_activity import Day
from hooks.store.bounded_json import parse_json
from hooks.store.state_files import DAY, FORECAST, FORECAST_HISTORY, LAST_PASS, REASONS, State
from hooks.translate.closures.published_closures import Closed, closed_from_data
from hooks.translate.published_site_orders import orders_from_data
from policy.forecast.forecast_hits_and_correction import ForecastRecord
from tui.backends.idle_core_history import HOUR_S, HOURS, Sample, spans

KEPT = 240
"""The number of passes kept to step through: an hour at the usual interval."""

_FIRST_BYTES = 8 << 20
_ABOUT_BYTES = 64 << 20

Part = Mapping[str, Any]

Outcome = Literal["done", "would", "undone"]
"""Carried out; would have been in another mode; put off or refused."""


class Pass(NamedTuple):
    """One line of the journal, described in hooks/record/pass_as_journal_entry.py. Missing or unexpected values are
    tolerated, since other versions may have written them."""

    time_s: float
    data: Mapping[str, Any]

    def parts(self, name: str) -> list[Part]:
        """A list of objects such as ``starts``; empty if missing."""
        found = self.data.get(name)
        return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []

    def texts(self, name: str) -> list[str]:
        """A list of texts such as ``notes``; empty if missing."""
        found = self.data.get(name)
        return [part for part in found if isinstance(part, str)] if isinstance(found, list) else []

    def number(self, name: str) -> float:
        """A number such as ``waiting``; 0 if missing."""
        found = self.data.get(name)
        return float(found) if isinstance(found, (int, float)) else 0.0

    def table(self, name: str) -> Part:
        """An object such as ``modes``; empty if missing."""
        found = self.data.get(name)
        return found if isinstance(found, dict) else {}

    def seconds(self) -> dict[str, float]:
        """How long each part of the pass took, such as ``read_s``."""
        seconds = self.table("seconds")
        return {name: float(seconds[name]) for name in seconds if isinstance(seconds[name], (int, float))}

    @property
    def started_in(self) -> frozenset[str]:
        """The queues in which the pass carried out its starts."""
        return frozenset(self.texts("acted"))

    @property
    def preempted_in(self) -> frozenset[str]:
        """The queues in which the pass carried out its preemptions."""
        return frozenset(self.texts("preempted_in")) | self.started_in

    def preemption_outcome(self, part: Part) -> Outcome:
        """What became of one of the ``preempts``."""
        if part.get("queue") not in self.preempted_in:
            return "would"
        is_done = bool(part.get("again")) or part.get("job") in self.texts("preempted")
        return "done" if is_done or "preempted" not in self.data else "undone"


class PassReason(NamedTuple):
    """Why a job waits, as the pass at ``time_s`` decided it; ``text`` is empty if the pass wrote only the code."""

    time_s: float
    code: str
    text: str


class PassReasons:
    """The reasons of the last pass, as its file has them (hooks/record/job_reasons.py)."""

    def __init__(self, data: bytes = b"") -> None:
        self._data = data

    def of(self, job_id: str) -> PassReason | None:
        """The reason of a waiting job or array; None if the pass had none, or the file cannot be read."""
        wanted = json.dumps(job_id).encode("ascii")
        at = self._data.find(wanted)
        while at >= 0:
            begin, end = self._data.rfind(b"\n", 0, at) + 1, self._data.find(b"\n", at)
            with contextlib.suppress(ValueError, KeyError, TypeError):
                line = parse_json(self._data[begin:end])
                if job_id in line["jobs"]:
                    return PassReason(float(line["time_s"]), str(line["code"]), str(line["text"]))
            at = self._data.find(wanted, end) if end >= 0 else -1
        return None


NO_REASONS = PassReasons()


class Passes(NamedTuple):
    """The last passes, oldest first; ``problem`` says why there are none. ``idle`` has by clock hour, over a day, the
    seconds covered and their mean of idle cores. ``reasons`` are those of the last pass, ``day`` is the last day's
    activity, ``forecast`` the last one that was published, ``quota_plan`` are the planned quotas. ``closed`` has when
    dedicated, prime and non-prime time closes queues, by the last pass; None if unknown. ``orders`` has the options of
    the schedulers by which it ordered jobs."""

    entries: tuple[Pass, ...] = ()
    problem: str = ""
    idle: Mapping[int, tuple[float, float]] = {}
    reasons: PassReasons = NO_REASONS
    day: Day = Day()
    forecast: PublishedForecast | None = None
    quota_plan: PublishedPlan = NO_PLAN
    closed: Closed | None = None
    orders: Mapping[str, Mapping[str, str]] = {}

    @property
    def last(self) -> Pass | None:
        """The newest pass."""
        return self.entries[-1] if self.entries else None


NO_PASSES = Passes()
"""The value before the journal is read."""


class JournalReader:
    """Reads the journal in one folder. Only :meth:`about` is safe to call from other threads. ``why_not`` returns why
    the folder must not be read, or an empty text."""

    def __init__(self, folder: Path, why_not: Callable[[], str] = str) -> None:
        self.folder = self._folder = folder
        """pbsteer's folder in PBS_HOME."""
        self._why_not = why_not
        self.changes = folder / CHANGES
        """The audit file shared by all administrators of the server (:mod:`hooks.audit.shared_audit_file`)."""
        self.last_pass = folder / LAST_PASS
        """What the last pass published, including the hooks' settings."""
        self._reasons_file = folder / REASONS
        self._reasons, self._reasons_version = NO_REASONS, (0, 0)
        self._day, self._day_version = Day(), (0, 0)
        self._forecast: PublishedForecast | None = None
        self._forecast_version = (0, 0)
        self._quota_plan, self._quota_plan_version = NO_PLAN, (0, 0)
        self._of_files: tuple[Closed | None, SchedFiles] = (None, {})
        self._of_files_version = (0, 0)
        self._state = State(folder)
        self._at: tuple[Path, int] | None = None
        self._entries: list[Pass] = []
        # By clock hour: the seconds covered, and the sum over them of the idle cores.
        self._idle: dict[int, tuple[float, float]] = {}
        self._sample: Sample | None = None

    def read(self) -> Passes:
        """The passes up to now. Never raises: an error becomes the ``problem``."""
        problem = self._find_problem()
        if problem:
            return Passes(problem=problem)
        try:
            self._take(self._fresh_lines())
        except OSError as error:
            return Passes(tuple(self._entries), f"the journal in {self._folder}: {error.strerror}")
        problem = "" if self._entries else f"no pass is in {self._folder} yet"
        means = {hour: (seconds, idle / seconds) for hour, (seconds, idle) in self._idle.items()}
        return Passes(
            tuple(self._entries),
            problem,
            means,
            self._read_reasons(),
            self._read_day(),
            self._read_forecast(),
            self._read_quota_plan(),
            *self._read_of_files(),
        )

    def _read_of_files(self) -> tuple[Closed | None, SchedFiles]:
        """What the last pass read in the schedulers' files; the same object as long as its own file is the same."""
        try:
            status = self.last_pass.stat()
        except OSError:
            return None, {}
        version = status.st_mtime_ns, status.st_ino
        if version != self._of_files_version:
            data = self._state.read_published(LAST_PASS)
            found = closed_from_data(data.get("closed")), orders_from_data(data.get("orders"))
            # Most passes find the same, and an equal object tells the console that its plan still holds.
            self._of_files = self._of_files if found == self._of_files else found
            self._of_files_version = version
        return self._of_files

    def _read_quota_plan(self) -> PublishedPlan:
        """The planned quotas; the same object as long as their file is the same."""
        try:
            status = (self._folder / QUOTA_PLAN_SHOWN).stat()
        except OSError:
            return NO_PLAN
        version = status.st_mtime_ns, status.st_ino
        if version != self._quota_plan_version:
            data = self._state.read_published(QUOTA_PLAN_SHOWN)
            self._quota_plan, self._quota_plan_version = PublishedPlan.from_data(data), version
        return self._quota_plan

    def _read_forecast(self) -> PublishedForecast | None:
        """The last published forecast; the same object as long as its file is the same."""
        try:
            status = (self._folder / FORECAST).stat()
        except OSError:
            return None
        version = status.st_mtime_ns, status.st_ino
        if version != self._forecast_version:
            data = self._state.read_published(FORECAST)
            self._forecast, self._forecast_version = PublishedForecast.from_data(data), version
        return self._forecast

    def read_history(self) -> tuple[PastRuns, ForecastRecord]:
        """The past runs, and the record of earlier forecasts, that passes keep; empty if they may not be read."""
        return read_history({} if self._find_problem() else self._state.read_published(FORECAST_HISTORY))

    def _read_day(self) -> Day:
        """The last day's activity; the same object as long as its file is the same."""
        try:
            status = (self._folder / DAY).stat()
        except OSError:
            return Day()
        version = status.st_mtime_ns, status.st_ino
        if version != self._day_version:
            self._day, self._day_version = Day.from_data(self._state.read_published(DAY)), version
        return self._day

    def _read_reasons(self) -> PassReasons:
        """The reasons of the last pass; the same object as long as their file is the same."""
        try:
            status = self._reasons_file.stat()
            version = status.st_mtime_ns, status.st_ino
            if version != self._reasons_version:
                self._reasons, self._reasons_version = PassReasons(self._reasons_file.read_bytes()), version
        except OSError:
            self._reasons, self._reasons_version = NO_REASONS, (0, 0)
        return self._reasons

    def about(self, job_id: str) -> list[Pass]:
        """The passes on disk that name this job, or of an array it or one of its subjobs, oldest first, from the last
        :data:`_ABOUT_BYTES` of the journal."""
        if self._find_problem():
            return []
        name = json.dumps(job_id)
        wanted = (name.partition("[]")[0] + "[" if is_array(job_id) else name).encode("ascii")
        left, found = _ABOUT_BYTES, []
        for path in reversed(self._state.journal_files()):
            try:
                data = _tail(path, left)
            except OSError:
                continue
            left -= len(data)
            found += [line for line in reversed(data.splitlines()) if wanted in line]
            if left <= 0:
                break
        return list(_understood(reversed(found)))

    @property
    def problem(self) -> str:
        """Why the journal cannot be read; empty if it can."""
        return self._find_problem()

    def _find_problem(self) -> str:
        if not self._folder.parent.is_dir():
            return f"{self._folder.parent} is not on this host: the journal is on the PBS server's"
        if not self._folder.exists():
            return f"no pass has been made on this host yet: {self._folder} is not there"
        if not os.access(self._folder, os.R_OK | os.X_OK):
            return f"{self._folder} may be read by root and by the group of the setting server.journal_group only"
        return self._why_not()

    def _fresh_lines(self) -> list[bytes]:
        """The complete lines not read before; an incomplete last line is left for the next read."""
        files = self._state.journal_files()
        if self._at is None or self._at[0] not in files:
            self._entries.clear()
            self._idle.clear()
            self._sample = None
            chosen, left = [], _FIRST_BYTES
            for path in reversed(files):
                chosen.append((path, max(0, path.stat().st_size - left)))
                left -= path.stat().st_size
                if left <= 0:
                    break
            chosen.reverse()
        else:
            chosen = [self._at, *((path, 0) for path in files[files.index(self._at[0]) + 1 :])]
        lines: list[bytes] = []
        for path, start in chosen:
            data = _piece(path, start, _FIRST_BYTES)
            whole = data[: data.rfind(b"\n") + 1]
            lines += whole.splitlines()
            self._at = (path, start + len(whole))
        return lines

    def _take(self, lines: Sequence[bytes]) -> None:
        for entry in _understood(lines):
            self._entries.append(entry)
            sample = _sample(entry)
            for hour, seconds, idle in spans(self._sample, sample):
                known_s, known = self._idle.get(hour, (0.0, 0.0))
                self._idle[hour] = known_s + seconds, known + seconds * idle
            self._sample = sample
        del self._entries[:-KEPT]
        if self._entries:
            oldest = int(self._entries[-1].time_s // HOUR_S) - HOURS
            for hour in [hour for hour in self._idle if hour <= oldest]:
                del self._idle[hour]


def _sample(entry: Pass) -> Sample:
    """The idle cores that a pass found, and those left after its starts."""
    found, started = entry.number("idle_cores"), set(entry.texts("started"))
    cores = [part.get("cores") for part in entry.parts("starts") if part.get("job") in started]
    taken = sum(number for number in cores if isinstance(number, int))
    return Sample(entry.time_s, found, max(0.0, found - taken))


def _understood(lines: Iterator[bytes] | Sequence[bytes]) -> Iterator[Pass]:
    """The lines that are passes; incomplete and other lines are left out."""
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            data = parse_json(line)
            yield Pass(float(data["time_s"]), data)


def _piece(path: Path, start: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(start)
        return file.read(most)


def _tail(path: Path, most: int) -> bytes:
    return _piece(path, max(0, path.stat().st_size - most), most)
