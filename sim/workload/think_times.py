"""Users who wait for results: jobs that come a think time after the earlier jobs of the same user have ended.

A user's jobs form sessions and batches as N. Zakay and D. G. Feitelson find them in traces (JSSPP 2012, MASCOTS 2014);
README.md has the rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from sim.workload.workload import UNKNOWN, Follows, TraceJob, Workload

SESSION_S = 3600


def with_think_times(workload: Workload, recorded: Workload | None = None) -> Workload:
    """The workload with the jobs that follow others. Its name says how many.

    ``recorded``: the workload before users' jobs were moved. A job that was not moved with all those that it follows
    there comes at its own time. ValueError for a workload without recorded waits, in which nothing says when a job had
    ended.
    """
    follows = find_follows(recorded or workload)
    if recorded is not None:
        recorded_s = {job.number: job.submit_s for job in recorded.jobs}
        moved_s = {job.number: job.submit_s - recorded_s[job.number] for job in workload.jobs}
        follows = {
            number: each
            for number, each in follows.items()
            if all(moved_s[before] == moved_s[number] for before in each.numbers)
        }
    name = f"{workload.name}, {len(follows):,} jobs a think time after their user's last batch in the session"
    return replace(workload, name=name, follows=follows)


def find_follows(workload: Workload) -> Mapping[int, Follows]:
    """The jobs that follow others, by number. Jobs of unknown users, who are many, follow none."""
    of_user: dict[str, list[TraceJob]] = defaultdict(list)
    for job in workload.jobs:
        if job.waited_s is not None and job.user != UNKNOWN:
            of_user[job.user].append(job)
    if not of_user:
        raise ValueError(f"{workload.name}: has no recorded waits of known users: nothing says when a job had ended")
    found: dict[int, Follows] = {}
    for jobs in of_user.values():
        found.update(_follows_of_user(jobs))
    return found


def _follows_of_user(jobs: list[TraceJob]) -> dict[int, Follows]:
    """The same for one user's jobs, in order of submission."""
    found: dict[int, Follows] = {}
    before: tuple[int, ...] = ()
    before_end_s = batch_end_s = 0.0
    batch: list[int] = []
    submitted_s = jobs[0].submit_s
    for job in jobs:
        if job.submit_s - submitted_s > SESSION_S:
            before, batch = (), []
        elif batch and job.submit_s >= batch_end_s:
            before, before_end_s, batch = tuple(batch), batch_end_s, []
        if before:
            found[job.number] = Follows(before, job.submit_s - before_end_s)
        end_s = job.submit_s + (job.waited_s or 0) + job.run_s
        batch_end_s = max(batch_end_s, end_s) if batch else end_s
        batch.append(job.number)
        submitted_s = job.submit_s
    return found
