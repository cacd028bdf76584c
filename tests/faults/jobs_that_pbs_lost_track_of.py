"""Jobs that PBS itself loses track of in a campaign, and what an administrator would do with them.

Each is a fault of PBS's own (docs/faults.md), so the campaign names these jobs and does not count them as lost.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tests.faults.accounting_and_job_log_invariants import Books
from tests.faults.endless_preempting_jobs import Workload
from tests.pbs.cluster import PbsCluster

_TOLD = ("comment", "Hold_Types", "array_state_count", "array_indices_remaining", "estimated", "run_count")
_FORGOTTEN_S = 90.0
"""How long after its program's end a job that PBS still calls running counts as forgotten."""


def free_wedged_jobs(pbs: PbsCluster) -> list[str]:
    """Requeue by force what PBS calls running though no vnode lists it; returns which.

    After a server and a MoM were away at the same time, PBS may leave a job so for good (OpenPBS 23.06: substate 41,
    "no active tasks" in the MoM's log again and again).
    """
    vnodes, jobs = pbs.pbsnodes().values(), pbs.qstat_json()
    listed = {str(job).partition("/")[0] for vnode in vnodes for job in vnode.get("jobs", ())}
    wedged = [job for job, texts in jobs.items() if texts["job_state"] == "R" and job not in listed]
    for job in wedged:
        pbs.run(["qrerun", "-W", "force", job])
    return wedged


def end_forgotten_jobs(pbs: PbsCluster, books: Books, workload: Workload) -> list[str]:
    """Delete by force jobs that PBS calls running long after their programs did all of their work; returns which.

    A MoM that is killed just after a job's last task has ended, and comes back with ``-p``, may never report that end
    (OpenPBS 23.06: substate 42, "no active tasks" in the MoM's log again and again, past the walltime too).
    """
    late_s = time.time() - _FORGOTTEN_S
    jobs = pbs.qstat_json()
    running = [job for job in books.unfinished() if jobs.get(job, {}).get("job_state") == "R"]
    forgotten = [job for job in running if workload.has_done_its_work(job, late_s)]
    for job in forgotten:
        pbs.run(["qdel", "-W", "force", job])
        books.settle(job)
    return forgotten


def find_open_arrays(pbs: PbsCluster, books: Books) -> list[str]:
    """Arrays that PBS has not closed though all their subjobs have ended: their work is done.

    A server that is killed between the two leaves them so for good (OpenPBS 23.06).
    """

    def has_ended(job: str) -> bool:
        life = books.lives.get(job)
        return life is not None and life.ended is not None

    return [
        job
        for job, texts in pbs.qstat_json().items()
        if texts["job_state"] == "B" and all(has_ended(subjob) for subjob in books.arrays.get(job, (job,)))
    ]


def find_unended_jobs(pbs: PbsCluster, known: Sequence[str] = ()) -> list[str]:
    """At the end of a campaign: jobs that are still held, suspended or running, a sentence each; ``known`` apart."""
    return [
        f"{job} is in state {texts['job_state']}: { ({name: texts.get(name) for name in _TOLD}) }"
        for job, texts in pbs.qstat_json().items()
        if texts["job_state"] not in "FX" and job not in known
    ]
