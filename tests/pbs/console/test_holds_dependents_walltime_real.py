"""What PBS does to runs that are held or get a walltime they have used, and to those that depend on a deleted job."""

from __future__ import annotations

import sys

from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_do_command_real import ROOT, do, do_all

START_BETWEEN_LOOK_AND_YES = """
import os, subprocess, sys, time
from pathlib import Path
from tui.audit.audit_file import Actor, AuditLog
from tui.cli.open_backend import open_real
from tui.operations.by_target.job_ops import hold
from tui.operations.compare_and_set import make
from tui.state.cluster_view import see
backend = open_real(os.environ, "", None)
operation = hold(see(backend.poll(), backend.settings(), backend.ledger(), 0.0), backend.commands, [sys.argv[1]])
subprocess.run(["qrun", sys.argv[1]], check=True)
audit = AuditLog(Path(sys.argv[2]), Actor("root", "here"), backend.name)
print(make(backend, operation.changes[0], audit, time.time).text)
backend.close()
"""


def short(job: str) -> str:
    return job.partition(".")[0]


def test_with_a_deleted_run_go_its_dependents_and_those_of_a_waiting_job_stay_held(pbs: PbsCluster) -> None:
    run = pbs.qsub("alice")
    pbs.wait_for_state(run, "R")
    after_ok, after_any = (pbs.qsub("bob", options=["-W", f"depend={kind}:{run}"]) for kind in ("afterok", "afterany"))
    last = pbs.qsub("bob", options=["-W", f"depend=afterany:{after_ok}"])
    said = do_all(pbs, "delete", run, "--confirm", short(run))
    assert "3 jobs · 2 users" in said
    assert f"2 jobs depend on that and are deleted too: {short(after_ok)} {short(last)}" in said
    for job in (run, after_ok, last):
        pbs.wait_for_state(job, "F")
    pbs.wait_for_state(after_any, "R")

    waiting = pbs.qsub("alice", select="1:ncpus=500")
    follower = pbs.qsub("bob", options=["-h", "-W", f"depend=afterany:{waiting}"])
    said = do_all(pbs, "release", follower, "--yes")
    assert f"{short(follower)} stays held: it waits for another job (afterany {short(waiting)})" in said
    assert (pbs.job(follower)["job_state"], pbs.job(follower)["Hold_Types"]) == ("H", "s")
    assert "waits for another job" in do(pbs, "release", follower, "--yes").stderr
    said = do_all(pbs, "delete", waiting, "--confirm", short(waiting))
    assert f"1 job depends on that and stays held until released: {short(follower)}" in said
    pbs.wait_for_state(waiting, "F")
    assert pbs.job(follower)["Hold_Types"] == "s"
    do_all(pbs, "release", follower, "--yes")
    pbs.wait_for_state(follower, "R")


def test_a_walltime_that_a_run_has_used_ends_it(pbs: PbsCluster) -> None:
    run = pbs.qsub("alice")
    pbs.wait_for_state(run, "R")
    refused = do(pbs, "walltime", "1", run, "--yes")
    assert (refused.status, f"asks for --confirm '{short(run)}'" in refused.stderr) == (2, True), refused.stderr
    assert "core-hours are lost" in do_all(pbs, "walltime", "1", run, "--confirm", short(run))
    pbs.wait_for_state(run, "F")


def test_a_job_that_started_after_the_look_is_not_held(pbs: PbsCluster) -> None:
    pbs.qmgr("set server scheduling = False")
    job = pbs.qsub("alice")
    argv = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", START_BETWEEN_LOOK_AND_YES]
    said = pbs.run([*argv, job, str(pbs.server_home / "audit.jsonl")]).demand_success().stdout
    assert f"not changed: hold {short(job)}: n when you looked, n, running" in said
    texts = pbs.wait_for_state(job, "R")
    assert texts["Hold_Types"] == "n"


def test_holds_are_compared_in_the_order_in_which_pbs_writes_them(pbs: PbsCluster) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500", options=["-h"])
    assert f"hold {short(job)}: done, verified" in do_all(pbs, "hold", job, "--yes")
    assert pbs.job(job)["Hold_Types"] == "ou"
    do_all(pbs, "release", job, "--yes")
    assert pbs.job_state(job) == "Q"
