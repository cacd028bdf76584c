"""From submission to start on an idle cluster, and starts per second, beside pbs_sched on the same jobs and vnodes."""

from __future__ import annotations

import random
import time

from policy.settings.settings_of_server_and_passes import ALWAYS, NEEDED, ScheduleSettings, ServerSettings
from policy.settings.site_settings import Settings
from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_pbs.testbed import Caller, calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deploy_on_testbed import deploy, last_pass
from tests.pbs.cluster import PbsCluster

LATENCY_JOBS = 10
_SEED = 1
_LONGEST_PAUSE_S = 5.0
_PBS_SCHED, _HOOKED, _DRIVE = "pbs_sched", "pbs_sched beside a start hook that does nothing", "drive"
_GUARDED = "drive, each start checked by the hook"
_NOOP = "bench_noop"


def measure_latency(jobs: int = LATENCY_JOBS) -> list[Figure]:
    """Seconds until a job runs that is submitted to an idle cluster at random moments, by pbs_sched and by passes at
    their default interval."""
    settings = Settings()
    interval_s = settings.schedule.interval_s
    with open_site() as pbs, calling(pbs, "alice") as caller:
        theirs = _wait_for_starts(pbs, caller, jobs, _LONGEST_PAUSE_S)
        with without_hooks(pbs):
            deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=2, budget_s=1.5)))
            _drive(pbs)
            pbs.wait_until(lambda: last_pass(pbs).get("acted") == ["workq"], 120.0, "a pass that drives")
            deploy(pbs, settings)
            ours = _wait_for_starts(pbs, caller, jobs, interval_s)
    note = f"{jobs} jobs, a pass each {interval_s} s and ahead of its time"
    return [
        Figure("submission to start, idle cluster, pbs_sched: median", median(theirs), "s", note=f"{jobs} jobs"),
        Figure("submission to start, idle cluster, pbs_sched: longest", max(theirs), "s"),
        Figure("submission to start, idle cluster, drive: median", median(ours), "s", note=note),
        Figure("submission to start, idle cluster, drive: longest", max(ours), "s", interval_s),
    ]


def _wait_for_starts(pbs: PbsCluster, caller: Caller, jobs: int, pause_s: float) -> list[float]:
    """Of jobs that come one by one, each after a random pause up to that."""
    waits = []
    moments = random.Random(_SEED)
    for _ in range(jobs):
        time.sleep(moments.uniform(0, pause_s))
        begun = time.perf_counter()
        (job,) = caller.ask(
            "submit", attributes=job_attributes("1:ncpus=1"), count=1, script=script(pbs, 600), queue="workq"
        )["ids"]
        seen = caller.ask("watch", seconds=60, until=1, pause_s=0.005)
        if seen["last_s"] is None:
            raise RuntimeError(f"{job} did not start within 60 s")
        waits.append(time.perf_counter() - begun)
        pbs.run(["qdel", "-W", "force", job])
        pbs.wait_for_state(job, "F", 60.0)
    return waits


def measure_rate(jobs: int = 400, rounds: int = 3) -> list[Figure]:
    """Starts per second of ``jobs`` jobs that wait for vnodes which have room for all of them, by turns.

    PBS runs a start hook for each start, and that alone costs it about a millisecond: who wants starts guarded pays it
    with any scheduler, so pbs_sched is measured beside a hook that does nothing, too.
    """
    rates: dict[str, list[float]] = {_PBS_SCHED: [], _HOOKED: [], _DRIVE: [], _GUARDED: []}
    with (
        open_site(moms=4, vnodes=-(-jobs // 32)) as pbs,
        calling(pbs, "alice") as submitter,
        calling(pbs) as watcher,
    ):
        note = f"median of {rounds} rounds, {jobs} jobs on {_cores(pbs)} cores"
        for _ in range(rounds):
            for who, found in rates.items():
                with without_hooks(pbs):
                    found.append(jobs / _start_all(pbs, submitter, watcher, jobs, who))
    drive = median(rates[_DRIVE])
    return [
        *(Figure(f"starts per second, {who}", median(found), "/s", note=note) for who, found in rates.items()),
        Figure("drive's rate by pbs_sched's", drive / median(rates[_PBS_SCHED]), ""),
        Figure(f"{_GUARDED}: rate by pbs_sched's", median(rates[_GUARDED]) / median(rates[_PBS_SCHED]), ""),
        Figure(
            f"{_GUARDED}: rate by pbs_sched's beside the hook", median(rates[_GUARDED]) / median(rates[_HOOKED]), ""
        ),
    ]


def _start_all(pbs: PbsCluster, submitter: Caller, watcher: Caller, jobs: int, who: str) -> float:
    """Seconds from the first start to the last."""
    pbs.qmgr("set server scheduling = False")
    is_ours = who in (_DRIVE, _GUARDED)
    if is_ours:
        schedule = ScheduleSettings(interval_s=5, budget_s=4.5, max_starts=100_000)
        server = ServerSettings(guard_starts=ALWAYS if who == _GUARDED else NEEDED)
        deploy(pbs, Settings(schedule=schedule, server=server))
    elif who == _HOOKED:
        path = pbs.testbed.folder / "noop.py"
        path.write_text("import pbs\npbs.event().accept()\n")
        pbs.qmgr(f"create hook {_NOOP} event=runjob", f"import hook {_NOOP} application/x-python default {path}")
    submitter.ask("submit", attributes=job_attributes("1:ncpus=1"), count=jobs, script=script(pbs, 600), queue="workq")
    watcher.send("watch", seconds=300, until=jobs, pause_s=0.05)
    if is_ours:
        _drive(pbs)
    else:
        pbs.qmgr("set server scheduling = True")
    seen = watcher.answer()
    if who == _HOOKED:
        pbs.qmgr(f"delete hook {_NOOP}")
    if seen["last_s"] is None or seen["first_s"] is None:
        raise RuntimeError(f"only {seen['running']} of {jobs} jobs started, by {who}")
    return float(seen["last_s"] - seen["first_s"])


def _cores(pbs: PbsCluster) -> int:
    return pbs.spec.moms * pbs.spec.vnodes * pbs.spec.cores


def _drive(pbs: PbsCluster) -> None:
    pbs.qmgr("set server scheduling = False", "set queue workq resources_available.pbsteer_mode = drive")
