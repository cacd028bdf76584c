"""From submission to start on an idle cluster, and starts per second, beside pbs_sched on the same jobs and vnodes."""

from __future__ import annotations

import random
import time

from policy.settings import PassSettings, Settings
from tests.bench_pbs.figures import Figure, median
from tests.bench_pbs.site import Caller, calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deployed import deploy
from tests.pbs.cluster import PbsCluster

_SEED = 1


def measure_latency(jobs: int = 20) -> list[Figure]:
    """Seconds until a job runs that is submitted to an idle cluster, at random moments of the default interval."""
    settings = Settings()
    interval_s = settings.schedule.interval_s
    waits = []
    moments = random.Random(_SEED)
    with open_site() as pbs, without_hooks(pbs):
        deploy(pbs, Settings(schedule=PassSettings(interval_s=2, budget_s=1.5)))
        deploy(pbs, settings)
        _drive(pbs)
        with calling(pbs, "alice") as caller:
            for _ in range(jobs):
                time.sleep(moments.uniform(0, interval_s))
                begun = time.perf_counter()
                (job,) = caller.ask(
                    "submit", attributes=job_attributes("1:ncpus=1"), count=1, script=script(pbs, 600), queue="workq"
                )["ids"]
                caller.ask("watch", seconds=60, until=1, pause_s=0.02)
                waits.append(time.perf_counter() - begun)
                pbs.run(["qdel", "-W", "force", job])
                pbs.wait_for_state(job, "F", 30.0)
    note = f"{jobs} jobs, one pass every {interval_s} s"
    return [
        Figure("submission to start, idle cluster, drive: median", median(waits), "s", note=note),
        Figure("submission to start, idle cluster, drive: longest", max(waits), "s", 2 * interval_s, note=note),
    ]


def measure_rate(jobs: int = 400) -> list[Figure]:
    """Starts per second of ``jobs`` jobs that wait for vnodes which have room for all of them."""
    figures = []
    with (
        open_site(moms=4, vnodes=-(-jobs // 32)) as pbs,
        calling(pbs, "alice") as submitter,
        calling(pbs) as watcher,
    ):
        note = f"{jobs} jobs on {_cores(pbs)} cores"
        for who in ("pbs_sched", "drive", "pbs_sched", "drive"):
            with without_hooks(pbs):
                seconds = _start_all(pbs, submitter, watcher, jobs, who)
            figures.append(Figure(f"starts per second, {who}", jobs / seconds, "/s", note=note))
    return figures


def _start_all(pbs: PbsCluster, submitter: Caller, watcher: Caller, jobs: int, who: str) -> float:
    """Seconds from the first start to the last."""
    pbs.qmgr("set server scheduling = False")
    if who == "drive":
        deploy(pbs, Settings(schedule=PassSettings(interval_s=5, budget_s=4.5, max_starts=100_000)))
    submitter.ask("submit", attributes=job_attributes("1:ncpus=1"), count=jobs, script=script(pbs, 600), queue="workq")
    watcher.send("watch", seconds=300, until=jobs, pause_s=0.05)
    if who == "drive":
        _drive(pbs)
    else:
        pbs.qmgr("set server scheduling = True")
    seen = watcher.answer()
    if seen["last_s"] is None or seen["first_s"] is None:
        raise RuntimeError(f"only {seen['running']} of {jobs} jobs started, by {who}")
    return float(seen["last_s"] - seen["first_s"])


def _cores(pbs: PbsCluster) -> int:
    return pbs.spec.moms * pbs.spec.vnodes * pbs.spec.cores


def _drive(pbs: PbsCluster) -> None:
    pbs.qmgr("set server scheduling = False", "set queue workq resources_available.pbsteer_mode = drive")
