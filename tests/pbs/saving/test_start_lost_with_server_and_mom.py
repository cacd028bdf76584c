"""A job just after whose start server and MoM were killed: the server learns that it runs, and it is asked once."""

from __future__ import annotations

import pytest

from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.saving.checkpointing_test_jobs import (
    SETTINGS,
    SIGNAL,
    counting,
    passes_with,
    preempt_by,
    repeated,
    submit,
)

pytestmark = pytest.mark.slow


def test_the_server_learns_that_it_runs_and_it_is_asked_once(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=8]'")
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    deploy_and_drive(pbs, quick_settings(checkpoint=SETTINGS))
    job = submit(pbs, counting("save; exit 0"), *SIGNAL)
    pbs.wait_for_state(job, "R")
    pbs.kill_server()
    mom = pbs.mom_names[0]
    pbs.run(["pkill", "-KILL", "-x", "pbs_mom"], host=mom).demand_success()
    pbs.wait_until(lambda: pbs.run(["pgrep", "-x", "pbs_mom"], host=mom).status != 0, 60, "the end of the MoM")
    pbs.start_server()
    found = pbs.job(job)
    assert (found["job_state"], found["substate"], found.get("stime")) == ("R", 41, None)
    pbs.run([f"{pbs.spec.pbs_exec}/sbin/pbs_mom", "-p"], host=mom).demand_success()
    pbs.wait_until(lambda: pbs.job(job)["substate"] == 42, 240.0, "the server knows that the job runs")
    assert pbs.job(job)["stime"]
    preempt_by(pbs, job)
    assert len(passes_with(pbs, "asked", job)) == 1
    repeated(pbs, job)
