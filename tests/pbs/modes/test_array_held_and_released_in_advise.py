"""Subjobs as victims in ``advise``: PBS holds no subjob, so their array is held, and must be released like a job.

PBS begins no scheduling cycle when an array is released: its subjobs would wait up to ten minutes.
"""

from __future__ import annotations

import os

import pytest

from policy.settings.site_settings import CheckpointSettings
from tests.hooks.deploy_on_testbed import LATE_S, deploy, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.test_advise_pbs_sched import by_priority, started_s
from tests.pbs.run_until_told import run_until_told
from tests.pbs.saving.checkpointing_test_jobs import passes_with

__all__ = ["by_priority"]


def fill_by_array(pbs: PbsCluster) -> str:
    """An array of alice's with a running subjob on each vnode, and one more that waits. Its subjobs ignore SIGUSR2, so
    that none ends early where it is asked to save."""
    cores, count = pbs.spec.cores, len(pbs.mom_names)
    begun = f"begun-{os.urandom(4).hex()}"
    command = ("/bin/sh", "-c", f"trap '' USR2; touch $HOME/{begun}-$PBS_ARRAY_INDEX; exec sleep 600")
    array = pbs.qsub("alice", command, select=f"1:ncpus={cores}", options=("-J", f"0-{count}"))
    home = pbs.testbed.home("alice")
    # A subjob that PBS shows as running may not have begun to ignore the signal yet.
    pbs.wait_until(lambda: len(list(home.glob(f"{begun}-*"))) == count, LATE_S, "a subjob on each vnode")
    return array


def running_of(pbs: PbsCluster, array: str) -> list[str]:
    jobs = pbs.qstat_json()
    return [
        job
        for job, texts in jobs.items()
        if job.startswith(array.split("[", maxsplit=1)[0] + "[") and texts["job_state"] == "R"
    ]


def holds_of(pbs: PbsCluster, array: str) -> str:
    return str(pbs.job(array).get("Hold_Types", "n"))


@pytest.mark.parametrize("deleted", [False, True])
def test_an_array_held_for_a_beneficiary_is_released_when_that_needs_it_no_more(
    by_priority: PbsCluster, deleted: bool
) -> None:
    pbs, cores = by_priority, by_priority.spec.cores
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[u:alice={cores}],[u:bob={cores}]'")
    saving = CheckpointSettings(method="signal", grace_s=40) if deleted else CheckpointSettings()
    deploy(pbs, quick_settings("advise", checkpoint=saving))
    array = fill_by_array(pbs)
    command, end_bobs = run_until_told(pbs, "bob")
    bobs = pbs.qsub("bob", command, select=f"1:ncpus={cores}")
    if deleted:
        pbs.wait_until(lambda: "s" in holds_of(pbs, array), LATE_S, "the array is held")
        expected_text = f"made room for {bobs.partition('.')[0]}: held until that runs, released at the latest at "
        pbs.wait_until(
            lambda: expected_text in pbs.job(array).get("comment", ""), LATE_S, "its comment names its beneficiary"
        )
        pbs.run(["qdel", bobs]).demand_success()
    else:
        # Without a time to save the hold may come and go between two looks; the passes tell that it was taken off.
        pbs.wait_for_state(bobs, "R")
        pbs.wait_until(lambda: passes_with(pbs, "released", array), LATE_S, "the array's hold is taken off")
        assert passes_with(pbs, "released", array)[0] >= started_s(pbs, bobs)
    pbs.wait_until(lambda: holds_of(pbs, array) == "n", LATE_S, "the array is held no more")
    for _ in range(2):
        wait_for_pass(pbs)
    assert holds_of(pbs, array) == "n"
    end_bobs()
    pbs.wait_until(lambda: len(running_of(pbs, array)) == len(pbs.mom_names), LATE_S, "its subjobs run again")
