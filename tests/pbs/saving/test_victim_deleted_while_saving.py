"""A victim's end in its time to save that is not of its own making, on a real server: it is where everybody expects it.

one vnode's 8 cores are all there is; alice's quota is 0, bob's 8
"""

from __future__ import annotations

import time

import pytest

from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import SLACK_S
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.read_installed_server_state import DeployError
from policy.settings.site_settings import CheckpointSettings
from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings, set_mode, state_of
from tests.pbs.cluster import PbsCluster
from tests.pbs.saving.checkpointing_test_jobs import SIGNAL, counting, log_of, passes_with, submit, wait_until_it_counts

pytestmark = pytest.mark.slow

GRACE_S = 20
GOAL = 150


def prepare(pbs: PbsCluster, grace_s: int = GRACE_S) -> Deployment:
    """One vnode that pbsteer drives, with quotas."""
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=8]'")
    return deploy_and_drive(pbs, quick_settings(checkpoint=CheckpointSettings(grace_s=grace_s, cost_s=0)))


def ask(pbs: PbsCluster, program: str) -> str:
    """A job of alice's that was asked to save, for one of bob's."""
    return ask_for(pbs, program)[0]


def ask_for(pbs: PbsCluster, program: str) -> tuple[str, str]:
    """The same, with the job of bob's."""
    job = submit(pbs, program, *SIGNAL)
    wait_until_it_counts(pbs, job)
    bobs = pbs.qsub("bob", ("/bin/sleep", "3"), select="1:ncpus=8")
    pbs.wait_until(lambda: passes_with(pbs, "asked", job), 120.0, "it is asked to save")
    return job, bobs


def passes_that_want(pbs: PbsCluster, job: str) -> bool:
    """Whether a pass has decided that this job makes room."""
    entries = state_of(pbs).read_journal(1000)
    return any(preempt["job"] == job for entry in entries for preempt in entry["preempts"])


@pytest.mark.parametrize("exit_status", [85, 0])
def test_a_job_that_saves_when_it_is_deleted_is_gone_all_the_same(pbs: PbsCluster, exit_status: int) -> None:
    """A program may end of being deleted with any status, that of saved work too."""
    prepare(pbs)
    job = ask(pbs, counting(f"' USR2; trap 'save; exit {exit_status}' TERM; trap ':", goal=GOAL))
    pbs.run(["qdel", job], user="alice").demand_success()
    ended = pbs.wait_for_state(job, "F")
    assert (ended["run_count"], ended["Exit_status"]) == (1, exit_status)


def test_who_is_held_and_released_while_it_saves_and_then_deleted_is_gone_too(pbs: PbsCluster) -> None:
    """PBS takes the comment away with the hold, and says only in a comment that a job was deleted."""
    prepare(pbs, grace_s=60)
    job = ask(pbs, counting("' USR2; trap 'save; exit 85' TERM; trap ':", goal=GOAL))
    for command in (["qhold", "-h", "u", job], ["qrls", "-h", "u", job]):
        pbs.run(command, user="alice").demand_success()
    pbs.wait_until(lambda: bool(pbs.job(job).get("comment")), 30.0, "a pass that writes a comment")
    pbs.run(["qdel", job], user="alice").demand_success()
    ended = pbs.wait_for_state(job, "F")
    assert (ended["run_count"], ended["Exit_status"]) == (1, 85)


def test_a_job_that_takes_its_time_to_be_deleted_is_not_requeued_meanwhile(pbs: PbsCluster) -> None:
    """PBS gives a program ``kill_delay`` to end of being deleted, and queues it again where it is requeued in that."""
    prepare(pbs)
    pbs.qmgr("set queue workq kill_delay = 20")
    job = pbs.qsub("alice", "trap '' TERM\nwhile :; do sleep 1; done\n", select="1:ncpus=8")
    pbs.wait_for_state(job, "R")
    pbs.run(["qdel", job], user="alice").demand_success()
    bobs = pbs.qsub("bob", ("/bin/sleep", "3"), select="1:ncpus=8")
    pbs.wait_until(lambda: passes_that_want(pbs, job), 120.0, "a pass that would preempt it")
    assert pbs.job(job)["job_state"] in "RE", "it still ends"
    assert pbs.wait_for_state(job, "F")["run_count"] == 1
    pbs.wait_for_state(bobs, "F")


def test_the_hooks_do_not_go_while_a_job_saves(pbs: PbsCluster) -> None:
    deployment = prepare(pbs)
    job = ask(pbs, counting("sleep 5; save; exit 85", goal=GOAL))
    with pytest.raises(DeployError, match=f"{job} until .*set the queues to observe"):
        deployment.remove(lambda _: None)
    set_mode(pbs, "observe")
    pbs.wait_until(lambda: pbs.job(job)["run_count"] > 1, 120.0, f"{job} runs again")
    deployment.remove(lambda _: None)
    ended = pbs.wait_for_state(job, "F", 150.0)
    assert ended["Exit_status"] == 0


@pytest.mark.parametrize("exit_status", [85, 0])
def test_whose_beneficiary_is_deleted_runs_again_only_where_it_says_that_it_saved(
    pbs: PbsCluster, exit_status: int
) -> None:
    """It goes on after it was asked, as many programs do, and ends in its own way once the request is withdrawn."""
    prepare(pbs, grace_s=120)
    ends = f"[ -e $saved.end ] && [ ! -e $saved.again ] && touch $saved.again && save && exit {exit_status}"
    job, bobs = ask_for(
        pbs, counting(":", goal=GOAL).replace("    echo $count >> $log\n", f"    echo $count >> $log\n    {ends}\n")
    )
    pbs.run(["qdel", bobs], user="bob").demand_success()
    pbs.wait_until(lambda: withdrawn(pbs, job), 120.0, "the request to save is withdrawn")
    assert withdrawn(pbs, job) == "beneficiary-gone"
    # For some seconds after that any end still counts as one in its time to save: clocks differ.
    time.sleep(SLACK_S + 1)
    may_end = log_of(pbs, job).with_suffix(".saved.end")
    pbs.run(["touch", str(may_end)], user="alice").demand_success()
    ended = pbs.wait_for_state(job, "F", 180.0)
    assert ended["run_count"] == (2 if exit_status == 85 else 1)
    assert ended["Exit_status"] == 0


def test_a_job_that_ends_well_after_its_time_to_save_is_not_run_a_second_time(pbs: PbsCluster) -> None:
    """It ignores the signal. Its beneficiary is deleted at the end of that time, so no pass requeues it."""
    prepare(pbs, grace_s=6)
    job, bobs = ask_for(pbs, counting("' USR2; trap '' USR2; trap ':", goal=GOAL))
    pbs.run(["qdel", bobs], user="bob").demand_success()
    ended = pbs.wait_for_state(job, "F", 180.0)
    assert (ended["run_count"], ended["Exit_status"]) == (1, 0)


def withdrawn(pbs: PbsCluster, job: str) -> str:
    """The journal's reason why a request to save was withdrawn."""
    entries = state_of(pbs).read_journal(1000)
    return str(next((entry["withdrawn"][job] for entry in entries if job in entry["withdrawn"]), ""))
