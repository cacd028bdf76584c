"""The walltimes that a reason names: those with which the job would end in time, or would start.

Where estimates are shrunk, :mod:`policy.explain.longest_backfill_walltime` finds them.
"""

from __future__ import annotations

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.model.pbs_units import show_duration, show_walltime
from policy.reasons.reason_names import Facts


def is_tested_whole(job: Job, facts: Facts, now_s: float) -> bool:
    """Whether a job that does not backfill has too little left to outlast the window: its saved work did not count."""
    before_s = facts.get("before_s")
    return job.saved_s > 0 and isinstance(before_s, (int, float)) and job.left_s <= before_s - now_s


def walltime_until(job: Job, facts: Facts, now_s: float, saved_s: float) -> str:
    """The longest walltime, in qsub's format, with which the job would end by the time that it has to, if ``saved_s``
    of it are done; empty where no such time is known, or less than a second is left until then."""
    before_s = facts.get("before_s", now_s)
    if not isinstance(before_s, (int, float)) or before_s == UNLIMITED_S:
        return ""
    most_s = int(before_s - now_s + saved_s) if before_s > now_s else 0
    return f"{show_walltime(most_s)}{_saved(saved_s)}" if most_s >= 1 else ""


def _saved(saved_s: float) -> str:
    """How much of a walltime is done already, where the job's work is saved."""
    return f", of which {show_duration(saved_s)} are saved," if saved_s > 0 else ""


def walltimes_that_do(job: Job, facts: Facts) -> str:
    """The walltimes with which a job that is tested with a shrunk estimate would start, as the object of a sentence.
    Where short walltimes are not shrunk, those that end by the reservation are named apart from those that are
    shrunk."""
    most_s, above_s = facts.get("most_left_s"), facts.get("above_s")
    at_most = f"a walltime of at most {facts['walltime']}" if facts["walltime"] else ""
    if not isinstance(most_s, (int, float)):
        return at_most
    up_to = "" if most_s == UNLIMITED_S else f"at most {show_walltime(int(most_s + job.saved_s))}{_saved(job.saved_s)}"
    if not isinstance(above_s, (int, float)):
        return f"a walltime of {up_to}" if up_to else "any walltime"
    more = f"more than {show_walltime(int(above_s + job.saved_s))}" + (f" and {up_to}" if up_to else "")
    return f"{at_most} or of {more}" if at_most else f"a walltime of {more}"
