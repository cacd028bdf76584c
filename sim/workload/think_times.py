"""Users who wait for results: jobs that come a think time after an earlier job of the same user has ended.

In a trace the submit times are what the recorded schedule made of them: a user who saw a job end soon went on soon. A
replay with fixed submit times overstates what a better schedule gains, and what a worse one costs. Here a job follows
the last job of its user that had ended before it came, if it came within twenty minutes of that end. All other jobs
come when they came. The model is a simple one of our own: N. Zakay and D. G. Feitelson show what is wrong with sessions
by such a limit ("On identifying user session boundaries in parallel workload logs", JSSPP 2012), and tie batches of
jobs to each other instead of single ones ("Preserving user behavior characteristics in trace-based simulation of
parallel job scheduling", MASCOTS 2014).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from sim.workload.workload import UNKNOWN, Follows, TraceJob, Workload

SESSION_S = 20 * 60


def with_think_times(workload: Workload) -> Workload:
    """The workload with the jobs that follow others. Its name says how many.

    ValueError for a workload without recorded waits, in which nothing says when a job had ended.
    """
    follows = find_follows(workload)
    name = f"{workload.name}, {len(follows):,} jobs after think times"
    return replace(workload, name=name, follows=follows)


def find_follows(workload: Workload) -> Mapping[int, Follows]:
    """The jobs that follow another one, by number. Jobs of unknown users, who are many, follow none."""
    of_user: dict[str, list[TraceJob]] = defaultdict(list)
    for job in workload.jobs:
        if job.waited_s is not None and job.user != UNKNOWN:
            of_user[job.user].append(job)
    if not of_user:
        raise ValueError(f"{workload.name}: has no recorded waits of known users: nothing says when a job had ended")
    found: dict[int, Follows] = {}
    for jobs in of_user.values():
        ends = sorted((job.submit_s + (job.waited_s or 0) + job.run_s, job.number) for job in jobs)
        times = [end_s for end_s, _ in ends]
        for job in jobs:
            before = bisect_right(times, job.submit_s) - 1
            # A job of no length that did not wait has ended when it came; it does not follow itself, nor a later one.
            while before >= 0 and ends[before][1] >= job.number and ends[before][0] == job.submit_s:
                before -= 1
            if before >= 0 and job.submit_s - times[before] <= SESSION_S:
                found[job.number] = Follows(ends[before][1], job.submit_s - times[before])
    return found
