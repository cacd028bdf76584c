"""The three modes on a real server: each by one value of the queue, with pbs_sched switched off and on by the pass."""

from __future__ import annotations

import pytest

from tests.hooks.deploy_on_testbed import (
    deploy,
    deploy_and_drive,
    drive,
    is_scheduling,
    last_pass,
    notes,
    quick_settings,
    set_mode,
    settle,
    state_of,
    wait_for_pass,
)
from tests.pbs.cluster import PbsCluster

JOB_S = 3


def make_partition(pbs: PbsCluster, name: str, vnode: str, queue: str) -> None:
    """A partition with a queue, one vnode and a scheduler object of its own, which is never started."""
    pbs.qmgr(
        f"create queue {queue} queue_type=execution",
        f"set queue {queue} enabled = True, started = True, partition = {name}",
        f"create sched {name}",
        f"set sched {name} partition = {name}",
        f"set node {vnode} partition = {name}",
    )


def assert_nothing_overcommitted(pbs: PbsCluster) -> None:
    for name, vnode in pbs.pbsnodes().items():
        assert vnode["resources_assigned"].get("ncpus", 0) <= pbs.spec.cores, name


def test_a_mode_is_one_value_and_leaving_drive_hands_the_queue_back(pbs: PbsCluster) -> None:
    """observe -> advise -> drive -> observe, with jobs that run and jobs that wait."""
    deploy(pbs, quick_settings())
    cores = pbs.spec.cores
    running = [pbs.qsub("alice", select=f"1:ncpus={cores}") for _ in pbs.mom_names]
    waiting = pbs.qsub("bob", ("/bin/sleep", str(JOB_S)), select=f"1:ncpus={cores}")
    for job_id in running:
        pbs.wait_for_state(job_id, "R")
    wait_for_pass(pbs)
    assert (last_pass(pbs)["acted"], is_scheduling(pbs)) == ([], True)

    set_mode(pbs, "advise")
    settle(pbs)
    assert (last_pass(pbs)["acted"], is_scheduling(pbs)) == ([], True)

    drive(pbs)
    assert not is_scheduling(pbs)
    assert pbs.job_state(waiting) == "Q"
    pbs.run(["qdel", running[0]]).demand_success()
    pbs.wait_for_state(waiting, "F")
    assert waiting in {job_id for entry in state_of(pbs).read_journal(1000) for job_id in entry["started"]}

    last = pbs.qsub("bob", select=f"1:ncpus={cores}")
    pbs.wait_for_state(last, "R")
    late = pbs.qsub("bob", ("/bin/sleep", str(JOB_S)), select=f"1:ncpus={cores}")
    set_mode(pbs, "observe")
    settle(pbs)
    assert is_scheduling(pbs)
    pbs.run(["qdel", last]).demand_success()
    pbs.wait_for_state(late, "F")
    assert late not in {job_id for entry in state_of(pbs).read_journal(1000) for job_id in entry["started"]}
    assert {pbs.job(job_id)["run_count"] for job_id in [*running, waiting, late, last]} == {1}
    assert all(entry["failures"] == [] for entry in state_of(pbs).read_journal(1000))


def test_only_a_switch_of_ours_is_taken_back(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    pbs.qmgr("set server scheduling = False")
    drive(pbs)
    set_mode(pbs, "observe")
    settle(pbs)
    assert not is_scheduling(pbs)
    assert "its jobs are not started" in notes(pbs)


def test_a_lost_record_does_not_leave_the_scheduler_off(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    (state_of(pbs).path / "schedulers.json").write_text("{ cut o")
    wait_for_pass(pbs)
    assert not is_scheduling(pbs)
    set_mode(pbs, "observe")
    settle(pbs)
    assert is_scheduling(pbs)


def test_all_queues_of_a_scheduler_are_driven_or_none(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings())
    pbs.qmgr("create queue other queue_type=execution,enabled=True,started=True")
    set_mode(pbs, "drive")
    settle(pbs)
    assert (last_pass(pbs)["acted"], is_scheduling(pbs)) == ([], True)
    assert "scheduler default also serves queue other (in observe): drive all its queues or none" in notes(pbs)
    drive(pbs, "workq", "other")
    set_mode(pbs, "advise", "other")
    settle(pbs)
    assert (last_pass(pbs)["acted"], is_scheduling(pbs)) == ([], True)


def test_one_partition_is_driven_beside_the_default_one(pbs: PbsCluster) -> None:
    vnode = pbs.mom_names[-1]
    try:
        make_partition(pbs, "P1", vnode, "mine")
        # A pass before it is driven, so that it is on record that P1 was off by itself.
        deploy(pbs, quick_settings())
        drive(pbs, "mine")
        assert (last_pass(pbs)["acted"], is_scheduling(pbs)) == (["mine"], True)
        cores = pbs.spec.cores
        own = [pbs.qsub("alice", ("/bin/sleep", str(JOB_S)), select=f"1:ncpus={cores}", queue="mine") for _ in range(2)]
        others = [pbs.qsub("bob", ("/bin/sleep", str(JOB_S)), select=f"1:ncpus={cores}") for _ in range(3)]
        for job_id in [*own, *others]:
            pbs.wait_for_state(job_id, "F")
        started = {job_id for entry in state_of(pbs).read_journal(1000) for job_id in entry["started"]}
        assert started == set(own)
        assert {pbs.job(job_id)["exec_vnode"] for job_id in own} == {f"({vnode}:ncpus={cores})"}
        set_mode(pbs, "advise", "mine")
        settle(pbs)
        assert "queue mine is in advise, but scheduler P1 has scheduling = False" in notes(pbs)
        pbs.qmgr("set sched P1 scheduling = True")
        settle(pbs)
        assert "queue mine is in advise, but scheduler P1 does not run" in notes(pbs)
    finally:
        pbs.run(["qmgr", "-c", f"unset node {vnode} partition"])


@pytest.mark.parametrize("how", ["settings", "folder"])
def test_passes_that_fail_hand_the_queue_back_and_drive_again_later(pbs: PbsCluster, how: str) -> None:
    deployment = deploy_and_drive(pbs, quick_settings())
    if how == "settings":
        broken = pbs.server_home / "server_priv" / "hooks" / "pbsteer_periodic.CF"
        text = broken.read_text()
        broken.write_text("{ cut o")
    else:
        folder = state_of(pbs).path
        aside = folder.rename(folder.with_name("pbsteer.aside"))
        folder.write_text("in the way")
    pbs.wait_until(lambda: is_scheduling(pbs), 120.0, "pbs_sched has its queues back")
    job_id = pbs.qsub("alice", ("/bin/sleep", "1"))
    pbs.wait_for_state(job_id, "F")
    assert "switched on again" in pbs.server_log()
    if how == "settings":
        broken.write_text(text)
        wait_for_pass(pbs)
        assert is_scheduling(pbs)
        assert "passes had failed" in notes(pbs)
    else:
        folder.unlink()
        aside.rename(folder)
        wait_for_pass(pbs)
    pbs.wait_until(lambda: last_pass(pbs)["acted"] == ["workq"], 120.0, "pbsteer drives again")
    assert not is_scheduling(pbs)
    deployment.remove(lambda _: None)
    assert is_scheduling(pbs)


def test_changing_the_mode_again_and_again_overcommits_nothing(pbs: PbsCluster) -> None:
    """Two starters in turn, each taking over in the middle of the other's work."""
    deploy(pbs, quick_settings())
    jobs = [pbs.qsub("alice", ("/bin/sleep", "2"), select="1:ncpus=3", options=["-J", "1-40"])]
    for mode in ("drive", "observe", "drive", "advise", "drive", "observe"):
        set_mode(pbs, mode)
        for _ in range(8):
            assert_nothing_overcommitted(pbs)
    for job_id in jobs:
        pbs.wait_for_state(job_id, "F")
    ended = pbs.qstat_json()
    assert {ended[job]["run_count"] for job in ended if "[]" not in job} == {1}


@pytest.mark.takes(140)
def test_a_reservation_is_confirmed_and_its_jobs_start_while_the_queue_is_driven(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    start, end = (pbs.run(["date", "-d", f"+{minutes} minutes", "+%H%M"]).stdout.strip() for minutes in (3, 9))
    asked = pbs.run(["pbs_rsub", "-R", start, "-E", end, "-l", "select=1:ncpus=2"], user="alice").demand_success()
    name = asked.stdout.split()[0]
    try:
        pbs.wait_until(lambda: "RESV_CONFIRMED" in pbs.run(["pbs_rstat", "-f", name]).stdout, 170.0, "it is confirmed")
        drive(pbs)
        job_id = pbs.qsub("alice", ("/bin/sleep", "1"), queue=name.partition(".")[0])
        pbs.wait_for_state(job_id, "F", 300.0)
        own = pbs.qsub("bob", ("/bin/sleep", "1"))
        pbs.wait_for_state(own, "F")
        assert not is_scheduling(pbs)
    finally:
        pbs.run(["pbs_rdel", name])
