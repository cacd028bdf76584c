"""What a user may try to keep cores that others are entitled to, on a real server: each dodge, and what stays."""

from __future__ import annotations

import time
from functools import partial

import pytest

from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings, wait_for_pass
from tests.pbs.cluster import PbsCluster


def waiting_for(pbs: PbsCluster, job_id: str) -> str:
    """Why the job waits, once a pass has said so."""
    pbs.wait_until(lambda: "pbsteer" in pbs.job(job_id).get("comment", ""), 120.0, "a pass has told why it waits")
    return str(pbs.job(job_id)["comment"])


def test_jobs_that_may_not_be_rerun_run_within_quota_only(pbs: PbsCluster) -> None:
    """24 cores; alice's quota is 8, bob's 8: submitted or altered, hers never keep bob from his."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8],[u:PBS_GENERIC=8]'")
    deploy_and_drive(pbs, quick_settings())
    kept = pbs.qsub("alice", options=("-r", "n"), select="1:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(kept) == "R", 120.0, "it is within alice's quota, and runs")
    refused = pbs.qsub("alice", options=("-r", "n"), select="1:ncpus=8")
    assert "could not be preempted, as it is not rerunnable" in waiting_for(pbs, refused)
    assert pbs.job_state(refused) == "Q"

    over = [pbs.qsub("alice", select="1:ncpus=8") for _ in range(2)]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in over), 120.0, "rerunnable jobs take idle cores")
    for option in (("-r", "n"), ("-c", "n")):
        done = pbs.run(["qalter", *option, over[0]], user="alice")
        assert done.status != 0
        assert "managers and operators alone" in done.stderr
    assert pbs.job(over[0])["Rerunable"] == "True"

    bobs = pbs.qsub("bob", select="1:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(bobs) == "R", 120.0, "bob gets his quota")
    assert pbs.job_state(kept) == "R"
    assert sorted(pbs.job_state(job) for job in over) == ["Q", "R"]
    assert pbs.job_state(refused) == "Q"


def is_confirmed(pbs: PbsCluster, reservation: str) -> bool:
    return "RESV_CONFIRMED" in pbs.run(["pbs_rstat", "-f", reservation]).stdout


@pytest.mark.parametrize("state", ["H", "R"])
def test_an_alteration_that_pbs_cannot_show_to_its_hook_is_refused(pbs: PbsCluster, state: str) -> None:
    """PBS gives a hook no text that is not UTF-8, nor the job as it is, and would carry out the alteration."""
    deploy_and_drive(pbs, quick_settings())
    job = pbs.qsub("alice", options=("-h",) if state == "H" else ())
    pbs.wait_for_state(job, state)
    for options in (("-A", "\udcff"), ("-P", "\udcff"), ("-W", "depend=on:\udcff")):
        for words in (("-r", "n", *options), (*options, "-r", "n")):
            done = pbs.run(["qalter", *words, job], user="alice")
            assert "the alteration has text that is not UTF-8" in done.stderr, (words, done)
    assert pbs.job(job)["Rerunable"] == "True"
    assert "Unknown Job Id" in pbs.run(["qalter", "-r", "n", "99999"], user="alice").stderr
    pbs.run(["qalter", "-A", "\udcff", job]).demand_success()
    done = pbs.run(["qalter", "-r", "n", job], user="alice")
    assert (done.status != 0) == (state == "R"), "its own text hides nothing of the job"


def test_a_reservation_does_not_get_a_users_other_jobs_started_beyond_quota(pbs: PbsCluster) -> None:
    """24 cores; alice's quota is 8. For her reservation PBS's scheduler, which knows no quota, gets a cycle."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8]'")
    deploy_and_drive(pbs, quick_settings())
    beyond = pbs.qsub("alice", options=("-r", "n"), select="2:ncpus=8")
    assert "could not be preempted, as it is not rerunnable" in waiting_for(pbs, beyond)
    for _ in range(2):
        start, end = (time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + s)) for s in (240, 600))
        argv = ["pbs_rsub", "-R", start, "-E", end, "-l", "select=1:ncpus=1"]
        name = pbs.run(argv, user="alice").demand_success().stdout.split()[0]
        pbs.wait_until(partial(is_confirmed, pbs, name), 120.0, "it is confirmed")
        assert pbs.job_state(beyond) == "Q"
        pbs.run(["pbs_rdel", name]).demand_success()
    wait_for_pass(pbs)
    assert pbs.job_state(beyond) == "Q"


def test_a_manager_may_and_a_waiting_job_may(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8]'")
    deploy_and_drive(pbs, quick_settings())
    running = pbs.qsub("alice", select="1:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(running) == "R", 120.0, "it runs")
    assert pbs.run(["qalter", "-r", "n", running]).status == 0
    assert pbs.job(running)["Rerunable"] == "False"
    held = pbs.qsub("alice", options=("-h",), select="1:ncpus=8")
    assert pbs.run(["qalter", "-r", "n", held], user="alice").status == 0
    wait_for_pass(pbs)
    assert pbs.job(held)["Rerunable"] == "False"


def test_a_users_own_priority_orders_only_that_users_jobs(pbs: PbsCluster) -> None:
    """dave has all 24 cores; then, one after another, come carol's job and two of alice's; a manager raises one of
    dave's own. As room comes, each pass starts the next in order."""
    deploy_and_drive(pbs, quick_settings())
    filling = pbs.qsub("dave", select="3:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(filling) == "R", 120.0, "all cores are used")
    carols = pbs.qsub("carol", select="1:ncpus=8")
    old = pbs.qsub("alice", select="1:ncpus=8")
    raised = pbs.qsub("alice", options=("-p", "1023", "-l", "pbsteer_priority=1000"), select="1:ncpus=8")
    assert pbs.job(raised)["Resource_List"].get("pbsteer_priority", 0) == 0
    assert pbs.run(["qalter", "-l", "pbsteer_priority=1000", raised], user="alice").status != 0
    daves = pbs.qsub("dave", select="1:ncpus=8")
    assert pbs.run(["qalter", "-l", "pbsteer_priority=5", daves]).status == 0
    wait_for_pass(pbs)
    pbs.run(["qdel", filling])
    pbs.wait_until(lambda: sum(pbs.job_state(job) == "R" for job in (carols, old, raised, daves)) == 3, 120.0, "3 run")
    assert [pbs.job_state(job) for job in (daves, carols, raised, old)] == ["R", "R", "R", "Q"]


def test_a_queue_of_a_higher_priority_comes_first(pbs: PbsCluster) -> None:
    pbs.qmgr("create queue express queue_type=execution,enabled=true,started=true,Priority=50")
    deploy_and_drive(pbs, quick_settings(), "workq", "express")
    filling = pbs.qsub("dave", select="3:ncpus=8")
    pbs.wait_until(lambda: pbs.job_state(filling) == "R", 120.0, "all cores are used")
    older = [pbs.qsub("alice", select="1:ncpus=8") for _ in range(3)]
    first = pbs.qsub("bob", queue="express", select="1:ncpus=8")
    wait_for_pass(pbs)
    pbs.run(["qdel", filling])
    pbs.wait_until(lambda: sum(pbs.job_state(job) == "R" for job in (*older, first)) == 3, 120.0, "3 run")
    assert [pbs.job_state(job) for job in (first, *older)] == ["R", "R", "R", "Q"]


def test_a_promise_to_a_small_job_is_none_once_it_asks_for_more(pbs: PbsCluster) -> None:
    """alice's job of one core is promised a start, and then asks for all 24. dave's, of a higher priority, gets the
    cores that come free; while hers had the promise it would come first, and need them at its start."""
    deploy_and_drive(pbs, quick_settings())
    filling = [pbs.qsub("carol", select="1:ncpus=8", walltime="10:00:00") for _ in range(3)]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in filling), 120.0, "all cores are used")
    alices = pbs.qsub("alice", walltime="01:00:00")
    pbs.wait_until(lambda: [each["job"] for each in last_pass(pbs)["estimates"]] == [alices], 120.0, "it is promised")
    daves = pbs.qsub("dave", select="1:ncpus=8", walltime="20:00:00")
    pbs.run(["qalter", "-l", "pbsteer_priority=5", daves]).demand_success()
    pbs.run(["qalter", "-l", "select=3:ncpus=8,walltime=100:00:00", alices], user="alice").demand_success()
    wait_for_pass(pbs)
    pbs.run(["qdel", "-W", "force", filling[0]]).demand_success()
    pbs.wait_for_state(daves, "R")
    assert pbs.job_state(alices) == "Q"


def test_no_users_job_names_a_reservation_and_jobs_of_reservations_are_taken(pbs: PbsCluster) -> None:
    """PBS never requeues a job that names one, whatever it names; those of a reservation's queue it marks itself."""
    deploy_and_drive(pbs, quick_settings())
    done = pbs.run(["qsub", "-W", "reserve_ID=R9", "-l", "select=1:ncpus=1", "--", "/bin/true"], user="alice")
    assert "it names a reservation (reserve_ID)" in done.stderr
    start, end = (time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + s)) for s in (600, 1200))
    argv = ["pbs_rsub", "-R", start, "-E", end, "-l", "select=1:ncpus=1"]
    name = pbs.run(argv, user="alice").demand_success().stdout.split()[0]
    pbs.wait_until(partial(is_confirmed, pbs, name), 120.0, "it is confirmed")
    queue = name.partition(".")[0]
    job = pbs.run(["qsub", "-q", queue, "-l", "select=1:ncpus=1", "--", "/bin/true"], user="alice").demand_success()
    assert pbs.job(job.stdout.strip())["reserve_ID"].partition(".")[0] == queue
    pbs.run(["pbs_rdel", name]).demand_success()
