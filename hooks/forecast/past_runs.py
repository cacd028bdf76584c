"""The runs that forecasts learn from, kept between passes: the last ones of each user, from PBS's accounting log.

Each time only what was written since the last time is read. Kept are at most :data:`RUNS_PER_USER` runs of a user and
:data:`RUNS` in all, so that neither a long log nor one user with many short jobs makes it large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hooks.pbs.files_and_output.accounting_fields import Fields, SenselessError, read_fields
from hooks.pbs.job_attributes.job_ids_and_states import is_array, parent_of
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished

RUNS = 20_000
RUNS_PER_USER = 200
_FIRST_BYTES = 32 << 20
"""The first time so much of the log is read, from its end."""
_MOST_BYTES = 32 << 20
"""The most that is read at once later. While the log grows faster, the history lags behind."""
_DAY = re.compile(r"[0-9]{8}")
_JOB = re.compile(r"[0-9]{1,18}(\[[0-9]{0,9}\])?(\..{1,255})?")
_VERSION = 1


class PastRuns(NamedTuple):
    """The runs in the order in which they ended. The log was read up to the byte ``offset`` of the file ``day``.

    ``started`` has the first start of each job that the last reading came across, by the id of the job or array; it is
    not kept.
    """

    runs: tuple[Finished, ...] = ()
    day: str = ""
    offset: int = 0
    started: Mapping[str, float] = {}

    def to_data(self) -> dict[str, Any]:
        """Plain data for a file."""
        rows = [
            [
                run.user,
                run.application,
                run.cores,
                run.start_s,
                run.end_s,
                None if run.estimate_s == UNLIMITED_S else run.estimate_s,
            ]
            for run in self.runs
        ]
        return {"version": _VERSION, "day": self.day, "offset": self.offset, "runs": rows}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> PastRuns:
        """What :meth:`to_data` gave. Rows that are no runs are left out, and other data is no history. Never raises."""
        if not isinstance(data, Mapping) or data.get("version") != _VERSION:
            return cls()
        rows, day, offset = data.get("runs"), data.get("day"), data.get("offset")
        runs = tuple(_kept(filter(None, map(_run_of, rows if isinstance(rows, list) else ()))))
        if (
            not isinstance(day, str)
            or not _DAY.fullmatch(day)
            or isinstance(offset, bool)
            or not isinstance(offset, int)
        ):
            return cls(runs)
        return cls(runs, day, max(0, offset))

    def read_on(self, accounting: Path) -> PastRuns:
        """The history with what has been written to the log since; the first time, with the log's last days.

        Raises OSError if the log cannot be read. A log that was cut off is read from its begin; nothing is taken twice
        from one that only grew.
        """
        days = sorted(path.name for path in accounting.iterdir() if _DAY.fullmatch(path.name) and path.is_file())
        pieces = list(self._pieces(accounting, days))
        runs, day, offset = list(self.runs), self.day, self.offset
        started: dict[str, float] = {}
        for day, begin, data in pieces:  # noqa: B007 - the last ones are kept
            whole = data[: data.rfind(b"\n") + 1]
            offset = begin + len(whole)
            for kind, job_id, fields in _records(whole):
                if fields.start_s is None:
                    continue
                job = parent_of(job_id)
                started[job] = min(started.get(job, UNLIMITED_S), float(fields.start_s))
                run = _ended(job_id, fields) if kind == b"E" else None
                if run is not None:
                    runs.append(run)
        return PastRuns(tuple(_kept(runs)), day, offset, started)

    def _pieces(self, accounting: Path, days: list[str]) -> Iterator[tuple[str, int, bytes]]:
        """What is to be read: the day, where in its file, and the bytes."""
        if not self.day:
            chosen, left = [], _FIRST_BYTES
            for day in reversed(days):
                size = (accounting / day).stat().st_size
                chosen.append((day, max(0, size - left)))
                left -= size
                if left <= 0:
                    break
            for day, begin in reversed(chosen):
                data = _read(accounting / day, begin, _FIRST_BYTES)
                # The first line of a piece may be the rest of one.
                cut = data.find(b"\n") + 1 if begin else 0
                yield day, begin + cut, data[cut:]
            return
        left = _MOST_BYTES
        for day in days:
            if day < self.day:
                continue
            begin = self.offset if day == self.day else 0
            if begin > (accounting / day).stat().st_size:
                begin = 0
            data = _read(accounting / day, begin, left)
            left -= len(data)
            yield day, begin, data
            if left <= 0:
                return


def _read(path: Path, begin: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(most)


def _records(data: bytes) -> Iterator[tuple[bytes, str, Fields]]:
    """The records of starts and ends of jobs and subjobs; lines that make no sense are left out."""
    for line in data.splitlines():
        parts = line.split(b";", 3)
        if len(parts) != 4 or parts[1] not in (b"S", b"E"):
            continue
        job_id = parts[2].decode("utf-8", "backslashreplace")
        if not _JOB.fullmatch(job_id) or is_array(job_id):
            continue
        try:
            yield parts[1], job_id, read_fields(parts[3])
        except SenselessError:
            continue


def _ended(job_id: str, fields: Fields) -> Finished | None:
    """The run of an end record. None for a job that had run before, since what it had saved is not known, and for one
    that never came to run. A run that was killed at its walltime counts: it took all of it."""
    start_s, end_s, cores = fields.start_s, fields.end_s, fields.cores
    if start_s is None or end_s is None or end_s < start_s or not cores or not fields.user:
        return None
    if (fields.run_count or 1) > 1 or not fields.came_to_run:
        return None
    asked_s = UNLIMITED_S if fields.walltime_s is None else float(fields.walltime_s)
    return Finished(job_id, fields.user, fields.application, cores, float(start_s), float(end_s), asked_s)


def _kept(runs: Iterable[Finished]) -> list[Finished]:
    """The last runs of each user, and of these the last of all."""
    counts: dict[str, int] = {}
    kept: list[Finished] = []
    for run in reversed(list(runs)):
        count = counts.get(run.user, 0)
        if count < RUNS_PER_USER:
            counts[run.user] = count + 1
            kept.append(run)
            if len(kept) == RUNS:
                break
    return kept[::-1]


def _run_of(row: object) -> Finished | None:
    if not isinstance(row, list) or len(row) != 6:
        return None
    user, application, cores, start_s, end_s, asked_s = row
    if not isinstance(user, str) or not isinstance(application, str):
        return None
    numbers = (cores, start_s, end_s, 0 if asked_s is None else asked_s)
    if not all(isinstance(n, (int, float)) and not isinstance(n, bool) and 0 <= n < 1e15 for n in numbers):
        return None
    return Finished(
        "",
        user,
        application,
        int(cores),
        float(start_s),
        float(end_s),
        UNLIMITED_S if asked_s is None else float(asked_s),
    )
