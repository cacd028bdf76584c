"""On a real server: a job whose program never begins, since its output goes to a FIFO that no program reads, makes room
as others do, also once it is deleted.
"""

from __future__ import annotations

import time

import pytest

from tests.hooks.deploy_on_testbed import LATE_S, deploy_and_drive, last_pass, make_deployment, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.quotas.test_staging_jobs_are_preempted import used

BEING_REQUEUED = 60
GONE = ("F", "X")


def submit_without_end(pbs: PbsCluster, *more: str) -> list[str]:
    """Jobs of alice's on all 24 cores, or one array, none of which begins."""
    made = "cd; pwd; rm -f pipe; mkfifo pipe"
    for host in pbs.spec.mom_hosts:
        home = pbs.run(["sh", "-c", made], user="alice", host=host.name).demand_success().stdout.strip()
    options = ("-k", "oed", "-o", f"{home}/pipe", *more)
    count = 1 if "-J" in more else 3
    jobs = [pbs.qsub("alice", select="1:ncpus=8", options=options) for _ in range(count)]
    pbs.wait_until(lambda: used(pbs) == 24, 120.0, "alice's jobs have all cores")
    return jobs


@pytest.mark.parametrize("more", [(), ("-J", "1-3"), ("-l", "pbsteer_save=signal")])
def test_an_output_that_no_program_reads_keeps_no_cores_beyond_quota(pbs: PbsCluster, more: tuple[str, ...]) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=24]'")
    deploy_and_drive(pbs, quick_settings())
    jobs = submit_without_end(pbs, *more)
    bobs = [pbs.qsub("bob", select="1:ncpus=8") for _ in range(2)]
    # A minute, in which a slow program may begin, goes by first.
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in bobs), 90.0 + LATE_S, "bob runs")
    assert used(pbs) <= 24
    if "-J" in more:
        assert pbs.job(jobs[0])["array_state_count"].startswith("Queued:2 Running:1 ")
    else:
        assert sorted(map(pbs.job_state, jobs)) == ["Q", "Q", "R"], "none is lost, and one is within her quota"
    remove(pbs, jobs)


def test_a_deleted_one_makes_room_and_is_gone(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=24]'")
    deploy_and_drive(pbs, quick_settings())
    jobs = submit_without_end(pbs)
    for job in jobs:
        # PBS does not answer while the job does not end.
        pbs.run(["timeout", "3", "qdel", job], user="alice")
    bobs = [pbs.qsub("bob", select="1:ncpus=8") for _ in range(3)]
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in bobs), 90.0 + LATE_S, "bob runs")
    pbs.wait_until(lambda: all(pbs.job_state(job) in GONE for job in jobs), LATE_S, "alice's jobs are gone")
    assert used(pbs) == 24
    remove(pbs, jobs)


def test_cores_that_pbs_counts_for_jobs_that_are_gone_are_named(pbs: PbsCluster) -> None:
    """The subjob ignores SIGTERM, so that it is still being requeued as its array is deleted by force."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=24]'")
    deploy_and_drive(pbs, quick_settings())
    program = ("/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.3; done")
    array = pbs.qsub("alice", program, select="1:ncpus=8", options=("-J", "1-3"))
    first = array.replace("[]", "[1]")
    pbs.wait_until(lambda: used(pbs) == 24, 120.0, "alice's subjobs have all cores")
    # Their programs are to ignore the signal before it comes.
    time.sleep(2)
    bobs = pbs.qsub("bob", select="3:ncpus=8")
    pbs.wait_until(lambda: pbs.job(first)["substate"] == BEING_REQUEUED, LATE_S, f"{first} is being requeued")
    pbs.run(["qdel", "-W", "force", array], user="alice")
    pbs.wait_until(lambda: named(pbs, first), 30.0 + LATE_S, "a pass names the subjob")
    pbs.run(["qdel", bobs])
    make_deployment(pbs).remove(lambda _: None)
    pbs.restart_clean_server()
    assert used(pbs) == 0


def named(pbs: PbsCluster, job: str) -> bool:
    return any(job in note and "until pbs_server is restarted" in note for note in last_pass(pbs)["notes"])


def remove(pbs: PbsCluster, jobs: list[str]) -> None:
    for job in jobs:
        pbs.run(["qrerun", "-W", "force", job])
        pbs.run(["qdel", job])
