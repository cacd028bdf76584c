"""The command of docs/security.md that finds who deletes jobs once others were preempted for them, on a real server."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings, state_of
from tests.pbs.cluster import PbsCluster

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text(encoding="utf-8")


def test_the_command_names_the_user_whose_deleted_jobs_had_others_preempted(pbs: PbsCluster) -> None:
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings())
    victim = pbs.qsub("alice", ("/bin/sleep", "600"), select="1:ncpus=8", walltime="01:00:00")
    pbs.wait_for_state(victim, "R")
    job = pbs.qsub("bob", ("/bin/sleep", "600"), select="1:ncpus=8", walltime="01:00:00")
    pbs.wait_for_state(job, "R")
    pbs.run(["qdel", job], user="bob").demand_success()
    pbs.wait_for_state(victim, "R")
    pbs.run(["qdel", victim], user="alice").demand_success()
    pbs.wait_for_state(victim, "F")
    command = PAGE.partition("$ cd /var/spool/pbs\n$ ")[2].partition("```")[0]
    done = subprocess.run(
        ["sh", "-c", command], cwd=state_of(pbs).path.parent, capture_output=True, text=True, check=True
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["1"]
    assert " bob@" in done.stdout
