"""Other workloads from a recorded one: the same jobs at another load, or with the users' activity moved by whole weeks.

Both keep every job as it is but for its submit time. A conclusion that holds for one trace only by chance does not hold
for most of these.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from sim.workload.workload import WEEK_S, Cluster, TraceJob, Workload

_MOST_LOAD = 100


def scale_to_load(workload: Workload, cluster: Cluster, load: float) -> Workload:
    """The workload with the gaps between submissions stretched or compressed, so that the offered load is `load`: the
    core-seconds of all jobs / (cores x time from first to last submit).

    Daily and weekly cycles are stretched with them (E. Frachtenberg, D. G. Feitelson, "Pitfalls in parallel job
    scheduling evaluation", JSSPP 2005). ValueError names what cannot be done.
    """
    if not 0 < load <= _MOST_LOAD:
        raise ValueError(f"load {load}: must be above 0 and at most {_MOST_LOAD} (1 fills every core)")
    first_s, last_s = workload.jobs[0].submit_s, workload.jobs[-1].submit_s
    if last_s == first_s or not any(job.run_s for job in workload.jobs):
        raise ValueError(f"load {load:g}: {workload.name} has no load to scale: all jobs come at once, or none runs")
    stretch = offered_load(workload, cluster) / load
    jobs = tuple(replace(job, submit_s=first_s + round((job.submit_s - first_s) * stretch)) for job in workload.jobs)
    return replace(workload, name=f"{workload.name}, load {load:g}", jobs=jobs)


def offered_load(workload: Workload, cluster: Cluster) -> float:
    """The core-seconds of all jobs / (cores x time from first to last submit), of jobs that do not all come at once."""
    work = sum(job.cores * job.run_s for job in workload.jobs)
    return work / (cluster.cores * (workload.jobs[-1].submit_s - workload.jobs[0].submit_s))


def resample(workload: Workload, cluster: Cluster, seed: int) -> Workload:
    """The workload with all jobs of each user moved by a number of weeks drawn for the user, around the end of the
    last full week of the trace to its beginning.

    Weekday and time of day of each job stay. So does the order of a user's jobs, but where the move takes some of them
    around the end. Which users are active together differs each time (after N. Zakay, D. G. Feitelson, "Workload
    resampling for performance evaluation of parallel job schedulers", Concurrency and Computation 26(12), 2014, who
    also draw users more than once). Jobs after the last full week stay where they are, so that the time covered and the
    offered load stay too; the name says the load beside the recorded one. The same seed gives the same. ValueError for
    a trace of less than two weeks.
    """
    first_s, last_s = workload.jobs[0].submit_s, workload.jobs[-1].submit_s
    weeks = int((last_s - first_s) // WEEK_S)
    if weeks < 2:
        raise ValueError(f"{workload.name}: is shorter than two weeks: users' activity cannot be moved by weeks")
    end_s = first_s + weeks * WEEK_S
    random = Random(f"{seed} resample")  # noqa: S311 - no secret depends on it
    moved_by = {user: random.randrange(weeks) * WEEK_S for user in sorted({job.user for job in workload.jobs})}

    def moved(job: TraceJob) -> TraceJob:
        if job.submit_s >= end_s:
            return job
        return replace(job, submit_s=first_s + (job.submit_s - first_s + moved_by[job.user]) % (weeks * WEEK_S))

    jobs = sorted(map(moved, workload.jobs), key=lambda job: (job.submit_s, job.number))
    resampled = replace(workload, jobs=tuple(jobs))
    loads = f"load {offered_load(resampled, cluster):.3f}, recorded {offered_load(workload, cluster):.3f}"
    return replace(resampled, name=f"{workload.name}, resampled with seed {seed} ({loads})")
