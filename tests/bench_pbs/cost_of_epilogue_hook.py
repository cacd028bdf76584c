"""The processor time of a job's end on its host: without a hook, with a hook that does nothing, and with pbsteer's.

The jobs are ones that no pass could have asked to save. A hook that does nothing shows what PBS takes for any hook.

Counted is the processor time of the processes that the MoM has started and seen end, by the kernel, so that whatever
else the machine does counts for nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from container.hosts.find_and_enter_running_host import find_host_process
from policy.settings.settings_of_server_and_passes import ALWAYS, ScheduleSettings, ServerSettings
from policy.settings.site_settings import Settings
from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_pbs.testbed import Caller, calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deploy_on_testbed import deploy
from tests.pbs.cluster import PbsCluster

ROUNDS = 3
_NOOP = "bench_noop"
_HOOK = "pbsteer_execjob_epilogue"


def measure(jobs: int = 60) -> list[Figure]:
    """``jobs`` jobs that end at once, without a hook, with one that does nothing, and with ours, in alternation."""
    seconds: dict[str, list[float]] = {"": [], _NOOP: [], _HOOK: []}
    with open_site(moms=1) as pbs, without_hooks(pbs), calling(pbs, "alice") as caller:
        schedule, server = ScheduleSettings(interval_s=2, budget_s=1.5), ServerSettings(end_hook=ALWAYS)
        deploy(pbs, Settings(schedule=schedule, server=server))
        pbs.qmgr("set hook pbsteer_periodic enabled = False", "set hook pbsteer_exechost_periodic enabled = False")
        path = pbs.testbed.folder / "noop.py"
        path.write_text("import pbs\npbs.event().accept()\n")
        pbs.qmgr(
            f"create hook {_NOOP} event=execjob_epilogue", f"import hook {_NOOP} application/x-python default {path}"
        )
        # Some first, until the host has its copy of the hooks.
        for wanted in (_HOOK, *list(seconds) * ROUNDS):
            pbs.qmgr(*(f"set hook {hook} enabled = {hook == wanted}" for hook in (_NOOP, _HOOK)))
            _end_all(pbs, caller, 10)
            before = _seconds_of_children(pbs)
            _end_all(pbs, caller, jobs)
            seconds[wanted].append((_seconds_of_children(pbs) - before) / jobs)
        pbs.qmgr(f"delete hook {_NOOP}")
    without, with_noop, with_hook = (median(found) * 1000 for found in seconds.values())
    note = f"median of {ROUNDS} rounds of {jobs} jobs"
    return [
        Figure("a job's end, its host's processor time: without hook", without, "ms", note=note),
        Figure("a job's end, its host's processor time: with a hook that does nothing", with_noop, "ms", note=note),
        Figure("a job's end, its host's processor time: with ours", with_hook, "ms", note=note),
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
