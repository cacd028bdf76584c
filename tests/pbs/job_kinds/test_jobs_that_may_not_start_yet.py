"""Jobs that may not start yet, on a real server: each says why, and starts as soon as it may."""

from __future__ import annotations

import time

from tests.hooks.deploy_on_testbed import last_pass, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven, run_by_pass, why_it_waits

RUNNING = 42


def test_jobs_that_wait_for_others(pbs: PbsCluster) -> None:
    driven(pbs)
    good = pbs.qsub("alice", ("/bin/sleep", "6"))
    bad = pbs.qsub("alice", "sleep 6; exit 3\n")
    after_good = pbs.qsub("alice", options=["-W", f"depend=afterok:{good}"])
    after_bad = pbs.qsub("alice", options=["-W", f"depend=afterok:{bad}"])
    not_ok = pbs.qsub("alice", options=["-W", f"depend=afternotok:{bad}"])
    either = pbs.qsub("alice", options=["-W", f"depend=afterany:{good}:{bad}"])
    begun = pbs.qsub("alice", options=["-W", f"depend=after:{good}"])
    on_one = pbs.qsub("alice", options=["-W", "depend=on:1"])
    assert "it waits for other jobs (on:1" in why_it_waits(pbs, on_one)
    pbs.qsub("alice", ("/bin/sleep", "1"), options=["-W", f"depend=beforeok:{on_one}"])
    for each in (begun, after_good, not_ok, either, on_one):
        pbs.wait_for_state(each, "R")
    ended = pbs.wait_for_state(after_bad, "F")
    assert "exec_vnode" not in ended


def test_of_alternatives_one_is_sent_to_its_host_and_the_others_are_held(pbs: PbsCluster) -> None:
    driven(pbs)
    first = pbs.qsub("alice", options=["-h"])
    others = [pbs.qsub("alice", options=["-h", "-W", f"depend=runone:{first}"]) for _ in range(2)]
    pbs.run(["qrls", first, *others]).demand_success()
    pbs.wait_for_state(first, "R")
    for job_id in others:
        held = pbs.wait_for_state(job_id, "H")
        assert "exec_vnode" not in held
        assert "run_count" not in held


def test_a_job_that_was_suspended_is_resumed(pbs: PbsCluster) -> None:
    first, cores = pbs.mom_names[0], pbs.spec.cores
    driven(pbs)
    job_id = pbs.qsub("alice", select=f"1:ncpus={cores}:vnode={first}")
    pbs.wait_until(lambda: pbs.job(job_id)["substate"] == RUNNING, 120.0, f"{job_id} runs")
    pbs.run(["qsig", "-s", "suspend", job_id]).demand_success()
    pbs.wait_for_state(job_id, "S")
    beside = pbs.qsub("bob", select=f"1:ncpus=1:vnode={first}")
    pbs.wait_for_state(beside, "R")
    pbs.run(["qsig", "-s", "resume", job_id]).demand_success()
    wait_for_pass(pbs)
    assert pbs.job_state(job_id) == "S", "there is no room for it"
    pbs.run(["qdel", beside]).demand_success()
    pbs.wait_for_state(job_id, "R")
    pbs.wait_until(lambda: "workq" in last_pass(pbs)["acted"], 120.0, "the queue is driven again")


def test_a_job_that_kept_its_cores_while_suspended_is_resumed(pbs: PbsCluster) -> None:
    """Its cores count as in use, but all that it needs again is the memory that it gave back."""
    driven(pbs)
    pbs.qmgr("set server restrict_res_to_release_on_suspend = mem")
    try:
        job_id = pbs.qsub("alice", select=f"1:ncpus={pbs.spec.cores}:mem=10mb:vnode={pbs.mom_names[0]}")
        pbs.wait_until(lambda: pbs.job(job_id)["substate"] == RUNNING, 120.0, f"{job_id} runs")
        pbs.run(["qsig", "-s", "suspend", job_id]).demand_success()
        assert pbs.wait_for_state(job_id, "S")["resources_released"] == f"({pbs.mom_names[0]}:mem=10240kb)"
        pbs.run(["qsig", "-s", "resume", job_id]).demand_success()
        pbs.wait_for_state(job_id, "R")
    finally:
        pbs.qmgr("unset server restrict_res_to_release_on_suspend")


def test_jobs_that_are_held(pbs: PbsCluster) -> None:
    driven(pbs)
    held = {letter: pbs.qsub("alice", options=["-h"]) for letter in "uos"}
    for letter in "os":
        pbs.run(["qhold", "-h", letter, held[letter]]).demand_success()
        pbs.run(["qrls", "-h", "u", held[letter]]).demand_success()
    assert "held by its owner: releasing it lets it run" in why_it_waits(pbs, held["u"])
    assert "held by an operator: releasing it lets it run" in pbs.job(held["o"])["comment"]
    assert "held by a manager or the system: releasing it" in pbs.job(held["s"])["comment"]
    for letter, job_id in held.items():
        pbs.run(["qrls", "-h", letter, job_id]).demand_success()
        pbs.wait_for_state(job_id, "R")


def test_a_job_that_may_not_be_top_job_holds_back_none_behind_it(pbs: PbsCluster) -> None:
    """The next one outlasts the run that it waits for, so it would wait if cores were reserved for it."""
    driven(pbs)
    running = pbs.qsub("alice", select=f"1:ncpus={pbs.spec.cores}")
    pbs.wait_for_state(running, "R")
    everywhere = f"{len(pbs.mom_names)}:ncpus={pbs.spec.cores}"
    waiting = pbs.qsub("alice", select=everywhere, options=["-h"])
    pbs.run(["qalter", "-W", "topjob_ineligible=True", waiting]).demand_success()
    pbs.run(["qrls", waiting]).demand_success()
    assert "it is set topjob_ineligible" in why_it_waits(pbs, waiting)
    longer = pbs.qsub("alice", select=f"1:ncpus={pbs.spec.cores}", walltime="10:00:00")
    pbs.wait_for_state(longer, "R")
    assert pbs.job_state(waiting) == "Q"


def test_a_job_with_a_start_time(pbs: PbsCluster) -> None:
    driven(pbs)
    at_s = time.time() + 10
    stamp = time.strftime("%Y%m%d%H%M.%S", time.localtime(at_s))
    job_id = pbs.qsub("alice", options=["-a", stamp])
    assert "may not start before its set time" in why_it_waits(pbs, job_id)
    job = pbs.wait_for_state(job_id, "R")
    assert time.mktime(time.strptime(job["stime"], "%a %b %d %H:%M:%S %Y")) >= int(at_s)


def test_a_job_whose_files_cannot_be_brought_waits_and_harms_nobody(pbs: PbsCluster) -> None:
    driven(pbs)
    missing = f"stagein=/tmp/brought@{pbs.spec.server.name}:/nonexistent/file"
    job_id = pbs.qsub("alice", options=["-W", missing])
    pbs.wait_for_state(job_id, "W")
    run_by_pass(pbs)
    assert "may not start before its set time" in why_it_waits(pbs, job_id)


def test_a_job_that_was_moved_starts_in_its_new_queue(pbs: PbsCluster) -> None:
    pbs.qmgr("create queue other queue_type=e,enabled=t,started=t")
    driven(pbs, "workq", "other")
    job_id = pbs.qsub("alice", options=["-h"])
    pbs.run(["qmove", "other", job_id]).demand_success()
    pbs.run(["qrls", job_id]).demand_success()
    assert pbs.wait_for_state(job_id, "R")["queue"] == "other"


def test_a_stopped_queue_starts_nothing_until_it_is_started(pbs: PbsCluster) -> None:
    driven(pbs)
    pbs.qmgr("set queue workq started = False")
    job_id = pbs.qsub("alice")
    assert "queue workq is stopped" in why_it_waits(pbs, job_id)
    pbs.qmgr("set queue workq started = True")
    pbs.wait_for_state(job_id, "R")


def test_somebody_who_waits_at_a_terminal_is_served(pbs: PbsCluster) -> None:
    driven(pbs)
    # What is typed before the job's shell is there is lost, so it is typed again until the shell has read it.
    typing = "for again in {1..40}; do echo 'echo here is $PBS_JOBID; exit'; sleep 1; done"
    terminal = "script -qec 'qsub -I -l select=1:ncpus=2 -l walltime=60' /dev/null"
    done = pbs.run(["bash", "-c", f"{typing} | {terminal}"], user="alice").demand_success()
    job_id = done.stdout.partition("waiting for job ")[2].partition(" ")[0]
    assert f"here is {job_id}" in done.stdout
    assert pbs.wait_for_state(job_id, "F")["exec_vnode"].endswith(":ncpus=2)")


def test_qsub_that_blocks_gives_the_jobs_exit_status(pbs: PbsCluster) -> None:
    driven(pbs)
    done = pbs.run(["qsub", "-W", "block=true", "-l", "select=1:ncpus=1"], user="alice", stdin="exit 7\n")
    assert done.status == 7
