"""A host whose copy of the settings was cut off, as on a full disk: jobs that save there are requeued all the same."""

from __future__ import annotations

import pytest

from hooks.pbs.own_switch_values import END_HOOK
from policy.settings.site_settings import CheckpointSettings
from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.saving.checkpointing_test_jobs import GRACE_S, counting, passes_with, preempt_by, repeated, submit


@pytest.mark.parametrize("left", [-3, 0], ids=["cut off", "empty"])
def test_a_job_without_a_method_of_its_own_that_saves_there_goes_on(pbs: PbsCluster, left: int) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=8]'")
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    settings = quick_settings(checkpoint=CheckpointSettings(method="signal", grace_s=GRACE_S, cost_s=0))
    deploy_and_drive(pbs, settings)
    copy = pbs.testbed.pbs_home(pbs.spec.mom_hosts[0]) / "mom_priv" / "hooks" / f"{END_HOOK}.CF"
    pbs.wait_until(copy.exists, 120.0, "the host has the hook's settings")
    whole = copy.read_bytes()
    job = submit(pbs, counting("save; exit 85"))
    copy.write_bytes(whole[:left])
    preempt_by(pbs, job)
    assert len(passes_with(pbs, "asked", job)) == 1
    assert passes_with(pbs, "requeued", job) == []
    assert f"{copy.name} cannot be read: exit status 85 means saved and not done" in pbs.mom_log()
    assert repeated(pbs, job) == 0
