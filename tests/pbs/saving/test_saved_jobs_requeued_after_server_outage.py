"""Jobs that end with the exit status of saved work while the server is away: those that were asked to come back."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from hooks.pbs.job_attributes.victim_mark import MARK_ATTRIBUTE, MARK_RESOURCE, Mark, show_marks
from policy.settings.settings_of_server_and_passes import ServerSettings
from tests.hooks.deploy_on_testbed import deploy, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster

pytestmark = pytest.mark.slow

WATCHED = replace(quick_settings(), server=ServerSettings(end_hook="always"))
"""These tests mark jobs themselves, where a pass would first wait until the hook at their end is on at their host."""
WISH = ("-l", "pbsteer_save=signal")
UNTIL_TOLD = 'until [ -e "$HOME/may-end" ]; do sleep 0.2; done; '
SAVING = f'saved="$HOME/$PBS_JOBID.saved"; [ -e "$saved" ] && exit 0; touch "$saved"; {UNTIL_TOLD}exit 85'
"""A program that has saved when it ends for the first time, and is done when it ends for the second."""
AT_ONCE = SAVING.replace(UNTIL_TOLD, "")

HELLOS = 10
"""After so many in vain a MoM says hello every four seconds: time to speak to it before it does."""

_MARK = """
import sys
sys.path.insert(0, sys.argv[1])
import pbs_ifl
mark = pbs_ifl.attrl()
mark.name, mark.resource, mark.value, mark.next = sys.argv[3:6] + [None]
sys.exit(pbs_ifl.pbs_alterjob(pbs_ifl.pbs_connect(None), sys.argv[2], mark, None))
"""


def test_only_a_job_that_was_asked_is_run_again(pbs: PbsCluster) -> None:
    deploy(pbs, WATCHED)
    of_each_kind: tuple[tuple[tuple[str, ...], bool, int], ...] = (
        ((), False, 1),
        (("-r", "n"), False, 1),
        (WISH, False, 1),
        (WISH, True, 2),
    )
    jobs = [_submit(pbs, options) for options, _, _ in of_each_kind]
    runs = {job: runs for job, (_, _, runs) in zip(jobs, of_each_kind)}
    for job, (_, asked, _) in zip(jobs, of_each_kind):
        pbs.wait_for_state(job, "R")
        if asked:
            _mark(pbs, job)
    pbs.stop_server()
    may_end(pbs).touch()
    try:
        pbs.wait_until(lambda: all(f"{job};Terminated" in pbs.mom_log() for job in runs), 180, "their ends")
    finally:
        pbs.start_server()
    for job, times in runs.items():
        _demand_runs(pbs, job, times)


def test_a_job_that_saved_comes_back_though_the_server_speaks_to_its_host_first(pbs: PbsCluster) -> None:
    """A MoM that is spoken to before it has said hello tells the ends of jobs ahead of what its hooks said of them."""
    deploy(pbs, WATCHED)
    job = _start_job(pbs, WISH, asked=True)
    host = str(pbs.job(job)["exec_vnode"]).strip("(").partition(":")[0]
    hellos = _count_hellos(pbs, host)
    pbs.stop_server()
    may_end(pbs).touch()
    try:
        pbs.wait_until(lambda: f"{job};Terminated" in pbs.mom_log(), 180, "its end")
        pbs.wait_until(lambda: _count_hellos(pbs, host) >= hellos + HELLOS, 180, "a MoM that seldom says hello")
    finally:
        pbs.start_server()
    pbs.run(["qsig", "-s", "USR2", job])
    _demand_runs(pbs, job, 2)


def test_a_job_that_saved_comes_back_though_the_server_does_not_know_yet_that_it_runs(pbs: PbsCluster) -> None:
    """Its end comes while the server has it in substate 41: its MoM tells that it runs some seconds after its start."""
    deploy(pbs, WATCHED)
    job = pbs.qsub("alice", ("/bin/sh", "-c", AT_ONCE), options=(*WISH, "-h"))
    _mark(pbs, job, ago_s=1)
    pbs.run(["qrls", job], user="alice").demand_success()
    _demand_runs(pbs, job, 2)


def test_what_its_queue_says_is_written_on_a_job_as_it_starts_so_that_its_host_knows(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set queue workq resources_available.pbsteer_save = signal")
    wait_for_pass(pbs)
    job = _start_job(pbs, (), asked=False)
    assert pbs.job(job)["Resource_List"]["pbsteer_save"] == "signal"


def _start_job(pbs: PbsCluster, options: tuple[str, ...], *, asked: bool) -> str:
    job = _submit(pbs, options)
    pbs.wait_for_state(job, "R")
    if asked:
        _mark(pbs, job)
    return job


def may_end(pbs: PbsCluster) -> Path:
    """While this file is there, the programs end."""
    return Path(pbs.testbed.home("alice")) / "may-end"


def _submit(pbs: PbsCluster, options: tuple[str, ...]) -> str:
    may_end(pbs).unlink(missing_ok=True)
    return pbs.qsub("alice", ("/bin/sh", "-c", SAVING), options=options)


def _mark(pbs: PbsCluster, job: str, *, ago_s: int = 0) -> None:
    """Mark the job as one that was asked. A run that began after that may be it all the same, if it says so: a server
    that was away gives its running jobs new start times."""
    asked_s = int(time.time()) - ago_s
    words = [job, MARK_ATTRIBUTE, MARK_RESOURCE, show_marks({None: Mark("9.s", "signal", asked_s, asked_s + 60)})]
    pbs_exec = pbs.spec.pbs_exec
    argv = [f"{pbs_exec}/bin/pbs_python", "-c", _MARK, f"{pbs_exec}/lib/python/altair", *words]
    pbs.run(argv).demand_success()


def _demand_runs(pbs: PbsCluster, job: str, runs: int) -> None:
    ended = pbs.wait_for_state(job, "F", 180.0)
    assert (ended["run_count"], ended["Exit_status"]) == (runs, 85 if runs == 1 else 0)


def _count_hellos(pbs: PbsCluster, host: str) -> int:
    logs = pbs.testbed.pbs_home(next(mom for mom in pbs.spec.mom_hosts if mom.name == host)) / "mom_logs"
    return sum(log.read_text(encoding="utf-8", errors="replace").count("HELLO sent") for log in logs.iterdir())
