"""What an alteration and a start cost the server while a queue has many quotas: alone, beside a hook that does nothing,
and beside ours.

PBS looks through a queue's limits as often as it encodes or decodes them, so the cost grows with the entries. Timed is
the server's answer to one request after another, through its library; passes are far apart, so that they take no part.
"""

from __future__ import annotations

from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_pbs.testbed import Caller, calling, job_attributes, open_site, script, without_hooks
from tests.hooks.deploy_on_testbed import deploy
from tests.pbs.cluster import PbsCluster

COUNTS = (0, 100, 1000, 5000)
_REQUESTS = 5
_ALONE, _NOOP, _OURS = "no hook", "a hook that does nothing", "pbsteer"
_EVENTS = ("modifyjob", "runjob")


def measure() -> list[Figure]:
    """Milliseconds of a comment, an alteration of the walltime and a start, for each number of entries."""
    figures: list[Figure] = []
    with open_site() as pbs, calling(pbs) as caller, calling(pbs, "alice") as submitter:
        pbs.qmgr("set server scheduling = False")
        for who in (_ALONE, _NOOP, _OURS):
            with without_hooks(pbs):
                pbs.qmgr("set server scheduling = False")
                _prepare(pbs, who)
                for count in COUNTS:
                    _set_entries(pbs, count)
                    figures += _time(pbs, caller, submitter, who, count)
                _set_entries(pbs, 0)
                if who == _NOOP:
                    pbs.qmgr(*(f"delete hook bench_{event}" for event in _EVENTS))
    return figures


def _prepare(pbs: PbsCluster, who: str) -> None:
    if who == _NOOP:
        path = pbs.testbed.folder / "noop.py"
        path.write_text("import pbs\npbs.event().accept()\n")
        for event in _EVENTS:
            pbs.qmgr(
                f"create hook bench_{event} event={event}",
                f"import hook bench_{event} application/x-python default {path}",
            )
    elif who == _OURS:
        deploy(pbs, Settings(schedule=ScheduleSettings(interval_s=60, budget_s=5)))
        pbs.qmgr("set queue workq resources_available.pbsteer_mode = advise")


def _set_entries(pbs: PbsCluster, count: int) -> None:
    pbs.qmgr("unset queue workq max_run_res_soft.ncpus")
    if count:
        entries = ",".join(f"[u:user{number:05d}=8]" for number in range(count))
        command = pbs.testbed.folder / "entries.qmgr"
        command.write_text(f"set queue workq max_run_res_soft.ncpus = '{entries}'\n")
        pbs.run(["sh", "-c", f"qmgr < {command}"]).demand_success()


def _time(pbs: PbsCluster, caller: Caller, submitter: Caller, who: str, count: int) -> list[Figure]:
    jobs = submitter.ask(
        "submit",
        attributes=job_attributes("1:ncpus=1"),
        count=_REQUESTS,
        script=script(pbs, 600),
        queue="workq",
    )["ids"]
    vnode = pbs.mom_names[0]
    taken = {
        "a comment": caller.ask("alter", jobs=jobs, name="comment", resource=None, value="told")["seconds"],
        "an alteration": caller.ask("alter", jobs=jobs, name="Resource_List", resource="walltime", value="00:30:00")[
            "seconds"
        ],
        "a start": caller.ask("start", jobs=jobs, exec_vnode=f"({vnode}:ncpus=1)")["seconds"],
    }
    pbs.run(["qdel", "-W", "force", *jobs])
    return [
        Figure(f"{count:>5} entries, {who}: {what}", 1000 * median(seconds), "ms") for what, seconds in taken.items()
    ]
