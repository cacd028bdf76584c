"""The hook at a job's end on a real server: off while no job can be asked to save, and on at its host before one is."""

from __future__ import annotations

import json

import pytest

from hooks.control.switched_hooks.end_hook_switch import KEPT_S
from hooks.pbs.own_switch_values import END_HOOK
from hooks.store.atomic_file import replace_file
from hooks.store.state_files import END_HOOK_NEEDED
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, quick_settings, state_of, wait_for_pass
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


def is_on(pbs: PbsCluster) -> bool:
    return "enabled = true" in pbs.qmgr(f"list hook {END_HOOK} enabled")


def is_off_on_host(pbs: PbsCluster) -> bool:
    copy = pbs.testbed.pbs_home(pbs.spec.mom_hosts[0]) / "mom_priv" / "hooks" / f"{END_HOOK}.HK"
    return "enabled=false" in copy.read_text()


def send_to_mom(pbs: PbsCluster, what: str) -> None:
    pbs.run(["pkill", f"-{what}", "-x", "pbs_mom"], host=pbs.mom_names[0]).demand_success()


def test_it_is_off_until_a_job_comes_that_could_be_asked_and_a_while_after(pbs: PbsCluster) -> None:
    deployment = deploy(pbs, quick_settings())
    pbs.wait_until(lambda: not is_on(pbs) and is_off_on_host(pbs), 60.0, "the host has it off")
    assert deployment.plan_apply(quick_settings()) == []
    job = pbs.qsub("alice", options=("-h", *SIGNAL))
    pbs.wait_until(lambda: is_on(pbs) and not is_off_on_host(pbs), 60.0, "the host has it on, in observe too")
    pbs.run(["qdel", job]).demand_success()
    wait_for_pass(pbs)
    assert is_on(pbs)
    noted = state_of(pbs).path / END_HOOK_NEEDED
    long_ago = {"time_s": json.loads(noted.read_text())["time_s"] - KEPT_S}
    replace_file(noted, json.dumps(long_ago).encode(), sync=False)
    pbs.wait_until(lambda: not is_on(pbs), 60.0, "it goes off")


@pytest.mark.slow
def test_a_job_whose_host_has_not_been_told_of_it_is_asked_once_it_has(pbs: PbsCluster) -> None:
    """The job runs before any pass knows of it, on a host that takes no message for a while."""
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings(checkpoint=SETTINGS))
    pbs.wait_until(lambda: not is_on(pbs) and is_off_on_host(pbs), 60.0, "the host has it off")
    pbs.qmgr("set hook pbsteer_periodic enabled = False")
    job = submit(pbs, counting("save; exit 85"), *SIGNAL)
    pbs.run(["qrun", "-H", pbs.mom_names[0], job]).demand_success()
    pbs.wait_for_state(job, "R")
    send_to_mom(pbs, "STOP")
    try:
        pbs.qmgr("set hook pbsteer_periodic enabled = True")
        pbs.wait_until(lambda: is_on(pbs), 60.0, "a pass has switched it on")
        bobs = pbs.qsub("bob", select="1:ncpus=8")
        for _ in range(3):
            wait_for_pass(pbs)
        assert is_off_on_host(pbs)
        assert passes_with(pbs, "asked", job) == passes_with(pbs, "requeued", job) == []
    finally:
        send_to_mom(pbs, "CONT")
    pbs.wait_for_state(bobs, "R")
    assert len(passes_with(pbs, "asked", job)) == 1
    assert passes_with(pbs, "requeued", job) == []
    pbs.run(["qdel", bobs]).demand_success()
    preempt_by(pbs, job)
    assert repeated(pbs, job) == 0
