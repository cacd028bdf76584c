"""Follows each job of an accounting log from record to record: queued, started, requeued, checkpointed, ended.

Jobs are under way when a log begins and ends, so a job is assembled from the records that exist: its end record alone
has nearly all of it. Types of records that do not matter for a job's run are listed, and skipped.
"""

from __future__ import annotations

import re
from math import inf

from hooks.pbs.files_and_output.accounting_fields import Fields, SenselessError, check_clock, read_fields
from sim.traces.accounting_log_files_and_lines import AccountingRecord, LinePosition

_JOB_ID = re.compile(rb"([0-9]{1,18})(?:\[([0-9]{0,9})\])?(\..{1,255})?", re.DOTALL)
_RESERVATION_ID = re.compile(rb"[RSM][0-9]+(\..*)?", re.DOTALL)

# Licences; reservations from request to removal; provisioning; the phases of a job that gives vnodes back (its end
# record still covers the whole job); nodes pruned at a reliable start; attributes altered (the end record has them).
_PASSED_OVER = frozenset("LUYBFKkPpucesa")

_OFFSET_STEP_S = 900
"""Local times differ from UTC by whole quarters of an hour."""

WAITING = "still waiting when the log ends"
RUNNING = "still running when the log ends"
DELETED = "deleted before they ran"
MOVED = "moved to another server"


class JobHistory:
    """One job as far as it is known. Times are seconds since 1970."""

    __slots__ = (
        "_checkpoint_s", "_cores_taken", "_running_since_s", "_suspended_since_s", "cores", "created_s", "eligible_s",
        "end_s", "exit_status", "first_start_s", "gone", "group", "id", "number", "place", "requeues", "run_s",
        "saved_s", "start_s", "suspended_s", "user", "walltime_s",
    )  # fmt: skip

    def __init__(self, record: AccountingRecord, number: int) -> None:
        self.id = record.id.decode("utf-8", "backslashreplace")
        self.number = number
        self.place: LinePosition = record.place
        self.user = self.group = ""
        self.cores: int | None = None
        self.walltime_s: int | None = None
        self.created_s: int | None = None
        self.eligible_s: int | None = None
        self.first_start_s: int | None = None
        self.start_s: int | None = None
        self.end_s: int | None = None
        self.run_s = 0
        self.exit_status: int | None = None
        self.requeues = 0
        self.gone = ""
        self.saved_s = 0
        self.suspended_s = 0
        self._running_since_s: int | None = None
        self._suspended_since_s: int | None = None
        self._checkpoint_s: int | None = None
        self._cores_taken = False

    @property
    def running(self) -> bool:
        """True from a start to the end of that run."""
        return self._running_since_s is not None

    def describe(self, fields: Fields) -> None:
        """Take the fields of a record; later records replace earlier ones, as a user may alter a walltime."""
        self.user = fields.user or self.user
        self.group = fields.group or self.group
        self.walltime_s = fields.walltime_s or self.walltime_s
        self.created_s = fields.created_s or self.created_s
        if not self._cores_taken:
            self.cores = fields.cores or self.cores

    def begin(self, fields: Fields) -> None:
        """A run starts from the beginning of the job, also after a checkpoint: PBS has other records of restarts. Only
        this record has all cores taken, so later records do not change them.
        """
        if self.running and fields.start_s == self.start_s:
            return
        if self.running:
            self.requeues += 1  # The end of the run before was never written: the server went down with it.
        self.saved_s = 0
        self._running_since_s = self.start_s = fields.start_s
        self._forget_interruptions()
        self._note_start(fields)
        self.cores = fields.cores or self.cores
        self._cores_taken = True

    def restart(self, time_s: int) -> None:
        """A run starts from the checkpoint."""
        self.saved_s += self._checkpoint_s or 0
        self._running_since_s, self.start_s = time_s, None
        self._forget_interruptions()

    def checkpoint(self, time_s: int) -> None:
        """The run so far is saved and ends; the saved work counts if the job is restarted from it."""
        if self._running_since_s is not None:
            self.resume(time_s)
            self._checkpoint_s = max(0, time_s - self._running_since_s - self.suspended_s)
            self._running_since_s = None

    def requeue(self, fields: Fields | None) -> None:
        """The run ends and the job waits again. Work that no checkpoint saved is lost. Torque's log gives no fields."""
        if fields is not None:
            self._note_start(fields)
        if self._checkpoint_s is None:
            self.requeues += 1
        self._running_since_s = self._suspended_since_s = self.start_s = None

    def suspend(self, time_s: int) -> None:
        """The run is suspended from here on."""
        self._suspended_since_s = time_s

    def resume(self, time_s: int) -> None:
        """The run is resumed."""
        if self._suspended_since_s is not None:
            self.suspended_s += max(0, time_s - self._suspended_since_s)
            self._suspended_since_s = None

    def end(self, fields: Fields) -> None:
        """The job has ended for good."""
        self._running_since_s = None
        if fields.end_s is None or fields.start_s is None:
            self.gone = DELETED
            return
        self.resume(fields.end_s)
        self._note_start(fields)
        self.start_s, self.end_s, self.exit_status = fields.start_s, fields.end_s, fields.exit_status
        self.run_s = fields.end_s - fields.start_s - self.suspended_s + self.saved_s
        if fields.end_s < fields.start_s or self.run_s < 0:
            self.end_s = None
            self.gone = "an end before the start"
        elif self.created_s is not None and fields.start_s < self.created_s:
            self.end_s = None
            self.gone = "a start before it was created"

    def _forget_interruptions(self) -> None:
        """Of the runs before."""
        self._suspended_since_s = self._checkpoint_s = None
        self.suspended_s = 0

    def _note_start(self, fields: Fields) -> None:
        """Note from the first known run when it started, and since when the job was eligible."""
        if self.first_start_s is not None or fields.start_s is None:
            return
        self.first_start_s = fields.start_s
        # A time later than the start belongs to a later wait; then the next best is taken.
        times = (fields.eligible_s, fields.queued_s, fields.created_s, fields.start_s)
        self.eligible_s = next(time_s for time_s in times if time_s is not None and time_s <= fields.start_s)


class JobHistories:
    """All jobs of a log, complete after :meth:`close`. `began_s` and `ended_s` are the first and last times in its
    records."""

    def __init__(self) -> None:
        self.all: list[JobHistory] = []
        self.began_s: int | None = None
        self.ended_s: int | None = None
        self.vnodes: set[str] = set()
        self._current: dict[bytes, JobHistory] = {}
        self._undated: list[tuple[AccountingRecord, JobHistory]] = []
        """Records since the last one that gives its time, each with its job."""
        self._offset_s = 0
        """How far stamps were ahead of the time at the last record taken, which was at `_time_s`."""
        self._time_s: float = -inf

    def take(self, record: AccountingRecord) -> None:
        """Take one record. Raises SenselessError with the cause, and takes nothing, where it makes no sense."""
        kind = record.kind
        if kind in _PASSED_OVER or _RESERVATION_ID.fullmatch(record.id):
            return
        match = _JOB_ID.fullmatch(record.id)
        if match is None:
            raise SenselessError("no job id")
        if match[2] == b"":
            return  # An array as a whole: its subjobs have their own records.
        if kind in "QSE" or (kind == "R" and record.text.strip()):
            self._described(record, int(match[1]))
        elif kind not in "TCzrDAMR":
            raise SenselessError("an unknown type of record")
        elif record.id in self._current:
            self._undated.append((record, self._current[record.id]))

    def close(self) -> None:
        """Take the records after the last one that gives its time."""
        self._take_undated(self._offset_s, inf)

    def _take_undated(self, next_offset_s: int, next_s: float) -> None:
        """Take the records between the last one that gave its time and the next one. Their stamps are local times, so
        that the offset changes with the clocks: that is one of two where it puts a record between the two."""
        for record, history in self._undated:
            before_s, after_s = record.stamp_s - self._offset_s, record.stamp_s - next_offset_s
            if self._is_outside(before_s, next_s) > self._is_outside(after_s, next_s):
                self._offset_s = next_offset_s
            self._time_s = time_s = record.stamp_s - self._offset_s
            _take_undescribed(record.kind, time_s, history)
        self._undated.clear()

    def _is_outside(self, time_s: int, next_s: float) -> float:
        """How far a time is before the last record or after the next one."""
        return max(self._time_s - time_s, time_s - next_s, 0)

    def _described(self, record: AccountingRecord, number: int) -> None:
        """Take a record that describes its job: Q, S, E or R."""
        kind, text = record.kind, record.text
        fields = read_fields(text)
        time_s = {"Q": fields.queued_s, "S": fields.start_s}.get(kind, fields.end_s)
        if time_s is not None:
            check_clock(record.stamp_s, time_s)
            offset_s = _OFFSET_STEP_S * round((record.stamp_s - time_s) / _OFFSET_STEP_S)
            self._take_undated(offset_s, time_s)
            self._offset_s, self._time_s = offset_s, time_s
        elif kind in "SR":
            raise SenselessError("no start time" if kind == "S" else "no end time")
        history = self._current.get(record.id)
        if history is not None and kind == "E" and history.end_s is not None and history.end_s == fields.end_s:
            raise SenselessError("an end recorded before")
        if history is None or _is_another(history, fields):
            history = self._current[record.id] = JobHistory(record, number)
            self.all.append(history)
        history.describe(fields)
        self.vnodes.update(fields.vnodes)
        if kind == "S":
            history.begin(fields)
        elif kind == "R":
            history.requeue(fields)
        elif kind == "E":
            history.end(fields)
        if time_s is not None:
            self.began_s = time_s if self.began_s is None else min(self.began_s, time_s)
            self.ended_s = time_s if self.ended_s is None else max(self.ended_s, time_s)


def _take_undescribed(kind: str, time_s: int, history: JobHistory) -> None:
    if kind == "T":
        history.restart(time_s)
    elif kind == "C":
        history.checkpoint(time_s)
    elif kind == "z":
        history.suspend(time_s)
    elif kind == "r":
        history.resume(time_s)
    elif kind == "R":
        history.requeue(None)
    elif not history.running:
        history.gone = MOVED if kind == "M" else DELETED


def _is_another(history: JobHistory, fields: Fields) -> bool:
    """True if the id belongs to a new job: ids start again after the highest one, and on a new server."""
    if history.created_s is not None and fields.created_s is not None:
        return history.created_s != fields.created_s
    return history.end_s is not None
