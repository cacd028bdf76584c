"""Soft limits side by side: the same story under pbs_sched's own preemption and under pbsteer, in one run.

Alice runs a little over her quota on idle cores, the large jobs last; Bob submits within his. Told is the lowest
number of cores that Alice was left with while Bob got his, and how long Bob waited.
"""

from __future__ import annotations

import time
from pathlib import Path

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.bench_pbs.benchmark_result import Figure
from tests.bench_pbs.testbed import open_site, without_hooks
from tests.hooks.deploy_on_testbed import deploy
from tests.pbs.cluster import PbsCluster

ALICES_JOBS = (4, 4, 8, 8)
ALICES_QUOTA, BOBS_QUOTA, BOBS_CORES = 20, 8, 4


def measure() -> list[Figure]:
    """Both, one after the other, on one testbed."""
    figures = []
    with open_site() as pbs:
        for who in ("pbs_sched", "drive"):
            with without_hooks(pbs):
                fewest, waited_s = _tell(pbs, who)
            note = f"she ran {sum(ALICES_JOBS)} of {ALICES_QUOTA}, he asked for {BOBS_CORES} of {BOBS_QUOTA}"
            figures.append(Figure(f"soft limits, {who}: fewest cores Alice was left with", fewest, "cores", note=note))
            figures.append(Figure(f"soft limits, {who}: seconds Bob waited", waited_s, "s"))
    return figures


def _tell(pbs: PbsCluster, who: str) -> tuple[int, float]:
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:alice={ALICES_QUOTA}],[u:bob={BOBS_QUOTA}]'")
    if who == "drive":
        deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=2, budget_s=1.5)))
        pbs.qmgr("set server scheduling = False", "set queue workq resources_available.pbsteer_mode = drive")
    else:
        pbs.qmgr('set sched default preempt_prio = "express_queue, normal_jobs, queue_softlimits"')
        pbs.qmgr('set sched default preempt_order = "R"')
    alices = [pbs.qsub("alice", select=f"1:ncpus={cores}") for cores in ALICES_JOBS]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in alices), 90.0, "Alice's jobs run")
    bob = pbs.qsub("bob", select=f"1:ncpus={BOBS_CORES}")
    begun = time.monotonic()
    fewest = sum(ALICES_JOBS)
    waited_s = None
    # Alice's jobs that made room beyond need may come back at once: what she was left with meanwhile is what counts.
    while time.monotonic() - begun < _WATCHED_S:
        jobs = pbs.qstat_json()
        hers = [job for job in jobs.values() if job["euser"] == "alice" and job["job_state"] == "R"]
        fewest = min(fewest, sum(job["Resource_List"]["ncpus"] for job in hers))
        if waited_s is None and jobs[bob]["job_state"] == "R":
            waited_s = time.monotonic() - begun
        if waited_s is not None and time.monotonic() - begun > waited_s + _AFTERWARDS_S:
            break
    if waited_s is None:
        raise RuntimeError(f"Bob's job did not start within {_WATCHED_S} s, by {who}; {_tail(pbs)}")
    return fewest, waited_s


_WATCHED_S = 120.0
_AFTERWARDS_S = 10.0


def _tail(pbs: PbsCluster) -> str:
    logs = sorted(Path(pbs.server_home / "sched_logs").iterdir())
    return logs[-1].read_text(errors="replace")[-2000:] if logs else "no scheduler log"
