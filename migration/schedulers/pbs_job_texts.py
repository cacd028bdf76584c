"""Jobs as ``qstat -f -w`` prints them: an attribute a line, line breaks in values written as ``\\n``.

No value reaches beyond its line. In PBS's JSON, values of users that look like JSON are not quoted, so that the text of
one job can make that of all unreadable.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from hooks.pbs.files_and_output.accounting_fields import KILLED_AT_LIMIT
from migration.schedulers.scheduler_interface import Ended
from policy.model.pbs_units import parse_duration_s

JobTexts = Mapping[str, str]
"""A job's attributes; a resource has its list's name before it, such as ``Resource_List.ncpus``."""
_JOB = re.compile(r"Job Id: (\S+)")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_SIGNALLED = 256
"""PBS adds this to the number of the signal that ended a job."""
_NOT_STARTED = frozenset((-1, -2, -3, -7, -10, -13, -16, -17, -21, -22, -23, -30))
"""``Exit_status`` of a job whose program MoM could not start, by ``JOB_EXEC_*`` in PBS's ``job.h``."""


def read_jobs(text: str) -> dict[str, JobTexts]:
    """Jobs by id, in PBS's order."""
    jobs: dict[str, JobTexts] = {}
    job: dict[str, str] = {}
    for line in text.split("\n"):
        head = _JOB.fullmatch(line)
        name, equals, value = line.partition(" = ")
        if head:
            jobs[head[1]] = job = {}
        elif equals:
            job[name.strip()] = value
    return jobs


def number_of(job: JobTexts, name: str) -> int:
    """An attribute that is a number; 0 if the job has none."""
    value = job.get(name, "")
    return int(value) if _NUMBER.fullmatch(value) else 0


def start_s_of(job: JobTexts) -> float | None:
    """When the scheduler expects the job to start, in seconds since the epoch."""
    value = job.get("estimated.start_time", "")
    if _NUMBER.fullmatch(value):
        return float(value)
    try:
        return time.mktime(time.strptime(value, "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None


def run_of(job: JobTexts) -> tuple[int, float]:
    """A run's cores and the seconds that its walltime leaves it; a run without one never ends."""
    limit_s = parse_seconds(job.get("Resource_List.walltime"))
    used_s = parse_seconds(job.get("resources_used.walltime")) or 0
    return number_of(job, "Resource_List.ncpus"), float("inf") if limit_s is None else max(0, limit_s - used_s)


def end_of(job: JobTexts) -> Ended | None:
    """How a job ended, by PBS's history; None if it has not."""
    if job.get("job_state") not in ("F", "X"):
        return None
    text = job.get("Exit_status", "")
    ran = number_of(job, "run_count") > 0 and "stime" in job
    if not _NUMBER.fullmatch(text):
        return Ended("", ran)
    status = int(text)
    if status in _NOT_STARTED:
        return Ended("", ran=False, not_started=f"Exit_status {status}, {job.get('comment', 'without a comment')}")
    if status < 0:
        return Ended(KILLED_AT_LIMIT.get(status, f"Exit_status {status}"), ran)
    return Ended(f"signal {status - _SIGNALLED}" if status >= _SIGNALLED else str(status), ran)


def parse_seconds(value: str | None) -> int | None:
    """A walltime; None if there is none."""
    try:
        return parse_duration_s(value) if value is not None else None
    except ValueError:
        return None
