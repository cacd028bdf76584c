"""What the end of a job costs its host more with pbsteer's hook there, for jobs that nobody could have asked to save.

Counted is the processor time of the processes that the MoM has started and seen end, by the kernel, so that whatever
else the machine does counts for nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from container.find_and_enter_running_host import find_host_process
from policy.settings.site_settings import ScheduleSettings, Settings
from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_pbs.testbed import Caller, calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deploy_on_testbed import deploy
from tests.pbs.cluster import PbsCluster

ROUNDS = 3
_HOOK = "pbsteer_execjob_epilogue"


def measure(jobs: int = 60) -> list[Figure]:
    """``jobs`` jobs that end at once, without the hook and with it, in alternation."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    with open_site(moms=1) as pbs, without_hooks(pbs), calling(pbs, "alice") as caller:
        deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=2, budget_s=1.5)))
        pbs.qmgr("set hook pbsteer_periodic enabled = False", "set hook pbsteer_exechost_periodic enabled = False")
        # Some first, until the host has its copy of the hook.
        for is_there in (True, *[False, True] * ROUNDS):
            pbs.qmgr(f"set hook {_HOOK} enabled = {is_there}")
            _end_all(pbs, caller, 10)
            before = _seconds_of_children(pbs)
            _end_all(pbs, caller, jobs)
            seconds[is_there].append((_seconds_of_children(pbs) - before) / jobs)
    without, with_hook = (median(seconds[is_there]) * 1000 for is_there in (False, True))
    note = f"median of {ROUNDS} rounds of {jobs} jobs"
    return [
        Figure("a job's end, its host's processor time: without hook", without, "ms", note=note),
        Figure("a job's end, its host's processor time: with it", with_hook, "ms", note=note),
    ]


def _end_all(pbs: PbsCluster, caller: Caller, jobs: int) -> None:
    caller.ask("submit", attributes=job_attributes("1:ncpus=1"), count=jobs, script=script(pbs, 0), queue="workq")
    pbs.wait_until(lambda: not pbs.run(["qselect"]).stdout.strip(), 600.0, "all jobs have ended")


def _seconds_of_children(pbs: PbsCluster) -> float:
    """User's and system's time of the MoM's children that have ended (proc(5), cutime and cstime)."""
    host = pbs.spec.mom_hosts[0]
    mom = pbs.run(["pgrep", "-o", "-x", "pbs_mom"], host=host.name).demand_success().stdout.strip()
    first = find_host_process(pbs.testbed.folder, host)
    fields = Path(f"/proc/{first}/root/proc/{mom}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in fields[13:15]) / os.sysconf("SC_CLK_TCK")
