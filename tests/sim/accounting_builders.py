"""Accounting records as PBS writes them, and logs made of them, for tests."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from sim.traces.accounting_log import AccountingLog, PastJob, read_accounting, read_log
from sim.workload.workload import Cluster, TraceJob

NOON_S = 1_767_182_400
"""12:00:00 UTC on the last day of 2025."""

BIG = Cluster(100, 10)


def stamp(time_s: float, zone_h: float = 0) -> str:
    """A record's own time: the server's local one."""
    return datetime.fromtimestamp(time_s, timezone(timedelta(hours=zone_h))).strftime("%m/%d/%Y %H:%M:%S")


def record(kind: str, job: object, time_s: float, text: str = "", *, zone_h: float = 0) -> str:
    """One line."""
    return f"{stamp(time_s, zone_h)};{kind};{job if '.' in str(job) else f'{job}.hpc1'};{text}"


def fields(
    *,
    created: int = NOON_S,
    eligible: int | None = None,
    start: int | None = None,
    end: int | None = None,
    cores: int | None = 4,
    walltime: str | None = "01:00:00",
    user: str = "alice",
    before: str = "",
    after: str = "",
) -> str:
    """The text of a Q, S, E or R record; `before` goes where an account would, `after` to the requested resources."""
    parts = [f"user={user} group=chem", before, "jobname=run queue=workq"]
    parts += [f"ctime={created} qtime={created} etime={created if eligible is None else eligible}"]
    parts += [f"start={start}"] if start is not None else []
    parts += [f"Resource_List.ncpus={cores}"] if cores is not None else []
    parts += ["Resource_List.place=free", after]
    parts += [f"Resource_List.walltime={walltime}"] if walltime is not None else []
    parts += [f"session=7 end={end} Exit_status=0 run_count=1"] if end is not None else []
    return " ".join(part for part in parts if part)


def ended(job: object, start: int, end: int, *, zone_h: float = 0, **others: Any) -> list[str]:
    """The Q, S and E records of a job that ran once."""
    given: dict[str, Any] = {"created": start, **others}
    return [
        record("Q", job, given["created"], fields(**given), zone_h=zone_h),
        record("S", job, start, fields(start=start, **given), zone_h=zone_h),
        record("E", job, end, fields(start=start, end=end, **given), zone_h=zone_h),
    ]


def write_log(path: Path, *lines: str) -> Path:
    """A daily file."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def log_of(tmp_path: Path, *lines: str) -> AccountingLog:
    """What is read of a log with these lines."""
    return read_log([write_log(tmp_path / "20251231", *lines)])


def only(tmp_path: Path, *lines: str) -> PastJob:
    """The one job that such a log has."""
    (job,) = log_of(tmp_path, *lines).jobs
    return job


def only_traced(tmp_path: Path, *lines: str, number: int = 1) -> TraceJob:
    """One of its jobs, as a replay on a big cluster meets it."""
    workload = read_accounting([write_log(tmp_path / "20251231", *lines)], BIG)
    return next(job for job in workload.jobs if job.number == number)


def causes(log: AccountingLog) -> dict[str, int]:
    """How many records were left out, by cause, wherever they were."""
    return {cause.partition(", first in ")[0]: count for cause, count in log.skipped.items()}
