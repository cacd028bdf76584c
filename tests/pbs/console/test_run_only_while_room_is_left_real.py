"""``run`` reads the vnodes again at the yes: it starts the job where room is left, not on what others got meanwhile."""

from __future__ import annotations

import sys

import pytest

from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_do_command_real import ROOT

LOOK_THEN_START_ANOTHER_THEN_RUN = """
import os, subprocess, sys, time
from pathlib import Path
from tui.audit.audit_file import Actor, AuditLog
from tui.cli.open_backend import open_real
from tui.operations.by_target.walltime_run_suspend_comment_ops import run_now
from tui.operations.compare_and_set import make
from tui.state.cluster_view import see
job, other, file = sys.argv[1:]
backend = open_real(os.environ, "", None)
operation = run_now(see(backend.poll(), backend.settings(), backend.ledger(), 0.0), backend.commands, [job])
(change,) = operation.changes
vnode = change.argv[2].strip("()").partition(":")[0]
subprocess.run(["qrun", "-H", vnode, other], check=True)
audit = AuditLog(Path(file), Actor("root", "here"), backend.name)
print(make(backend, change, audit, time.time).text)
backend.close()
"""


@pytest.mark.parametrize(("cores_of_other", "starts"), [(8, False), (1, True)])
def test_a_job_is_started_only_if_there_is_room_beside_what_started_meanwhile(
    pbs: PbsCluster, cores_of_other: int, starts: bool
) -> None:
    pbs.qmgr("set server scheduling = False")
    job = pbs.qsub("alice", select="1:ncpus=4")
    other = pbs.qsub("bob", select=f"1:ncpus={cores_of_other}")
    argv = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", LOOK_THEN_START_ANOTHER_THEN_RUN]
    said = pbs.run([*argv, job, other, str(pbs.server_home / "audit.jsonl")]).demand_success().stdout
    if starts:
        assert f"run {job.partition('.')[0]}: done, verified" in said, said
        pbs.wait_for_state(job, "R")
    else:
        assert "there is no longer room for it on" in said, said
        assert pbs.job_state(job) == "Q"
