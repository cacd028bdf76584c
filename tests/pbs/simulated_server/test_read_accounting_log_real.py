"""The accounting log of a real PBS server, read back: every job as PBS itself tells it, and nothing more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import mktime, strptime
from typing import Any

import pytest

from sim.traces.accounting_log import PastJob, read_accounting, read_log
from sim.workload.workload import Cluster
from tests.pbs.cluster import PbsCluster

SLEEP_3 = ("/bin/sleep", "3")


def accounting(pbs: PbsCluster) -> Path:
    return pbs.server_home / "server_priv" / "accounting"


def logged(pbs: PbsCluster) -> dict[str, PastJob]:
    return {job.id: job for job in read_log([accounting(pbs)]).jobs}


def wait_for_end(pbs: PbsCluster, *jobs: str) -> None:
    pbs.wait_until(lambda: all(pbs.job_state(job) == "F" for job in jobs), 120.0, "all of these ended")


def epoch_s(text: str) -> int:
    """A time as qstat writes it, in the server's local time."""
    return int(mktime(strptime(text, "%a %b %d %H:%M:%S %Y")))


def assert_as_qstat_has_it(job: PastJob, qstat: dict[str, Any]) -> None:
    """The job's own history is another witness than the log."""
    assert job.user == qstat["euser"]
    assert job.cores == qstat["Resource_List"]["ncpus"]
    assert job.requeues == qstat["run_count"] - 1
    assert job.last_start_s == epoch_s(qstat["stime"])
    assert job.eligible_s == epoch_s(qstat["etime"])
    assert job.exit_status == qstat["Exit_status"]


def test_plain_and_requeued_jobs_are_as_qstat_has_them(pbs: PbsCluster) -> None:
    plain = pbs.qsub("alice", SLEEP_3, select="2:ncpus=2", walltime="00:05:00", options=("-A", 'a b=c; d "q"'))
    requeued = pbs.qsub("carol", ("/bin/sleep", "8"), select="1:ncpus=3", options=("-r", "y"))
    pbs.wait_until(lambda: pbs.job(requeued)["substate"] == 42, 120.0, f"{requeued} runs")
    pbs.run(["qrerun", requeued]).demand_success()
    wait_for_end(pbs, plain, requeued)
    jobs = logged(pbs)
    for job in (plain, requeued):
        assert_as_qstat_has_it(jobs[job], pbs.job(job))
    assert (jobs[plain].walltime_s, jobs[plain].requeues, jobs[requeued].requeues) == (300, 0, 1)
    assert jobs[requeued].run_s == jobs[requeued].end_s - jobs[requeued].last_start_s
    assert jobs[requeued].run_s >= 8


def test_a_held_job_may_start_from_its_release(pbs: PbsCluster) -> None:
    job = pbs.qsub("bob", SLEEP_3, walltime=None, options=("-h",))
    created_s = epoch_s(pbs.job(job)["ctime"])
    pbs.run(["/bin/sleep", "2"]).demand_success()
    pbs.run(["qrls", job], user="bob").demand_success()
    wait_for_end(pbs, job)
    read = logged(pbs)[job]
    assert_as_qstat_has_it(read, pbs.job(job))
    assert read.eligible_s >= created_s + 2
    assert read.walltime_s is None


def test_deleted_jobs_count_if_they_ran(pbs: PbsCluster) -> None:
    running, held = pbs.qsub("alice"), pbs.qsub("bob", options=("-h",))
    pbs.wait_until(lambda: pbs.job(running)["substate"] == 42, 120.0, f"{running} runs")
    pbs.run(["qdel", running, held]).demand_success()
    wait_for_end(pbs, running)
    jobs = logged(pbs)
    assert_as_qstat_has_it(jobs[running], pbs.job(running))
    assert held not in jobs


def test_of_an_array_the_subjobs_are_jobs(pbs: PbsCluster) -> None:
    array = pbs.qsub("dave", SLEEP_3, select="1:ncpus=4", options=("-J", "1-3"))
    pbs.wait_until(lambda: pbs.qstat_json()[array]["job_state"] == "F", 120.0, "the array ended")
    jobs, qstat = logged(pbs), pbs.qstat_json()
    subjobs = [array.replace("[]", f"[{index}]") for index in (1, 2, 3)]
    assert array not in jobs
    for subjob in subjobs:
        assert_as_qstat_has_it(jobs[subjob], qstat[subjob])
    numbers = [job.number for job in read_accounting([accounting(pbs)], Cluster(1000, 8)).jobs]
    assert len(numbers) == len(set(numbers)) == len(jobs)


def test_a_job_that_has_its_vnode_to_itself_takes_all_its_cores(pbs: PbsCluster) -> None:
    job = pbs.qsub("carol", SLEEP_3, select="1:ncpus=2", options=("-l", "place=excl"))
    wait_for_end(pbs, job)
    assert pbs.job(job)["Resource_List"]["ncpus"] == 2
    assert logged(pbs)[job].cores == pbs.spec.cores


def test_no_more_cores_are_held_than_there_are(pbs: PbsCluster) -> None:
    jobs = [pbs.qsub("alice", SLEEP_3, select="1:ncpus=8") for _ in range(4)]
    wait_for_end(pbs, *jobs)
    log = read_log([accounting(pbs)])
    log = replace(log, jobs=tuple(job for job in log.jobs if job.id in jobs))
    assert len(log.jobs) == len(jobs)
    assert log.most_cores_at_once == pbs.spec.cores * len(pbs.mom_names)


@pytest.mark.parametrize("account", ["x\n11/20/2026 10:00:00;E;999.other;user=mallory", "\x1b[2J ende", "it's 'so'"])
def test_no_account_string_costs_its_job_or_makes_another(pbs: PbsCluster, account: str) -> None:
    job = pbs.qsub("alice", SLEEP_3, options=("-A", account))
    wait_for_end(pbs, job)
    jobs = logged(pbs)
    assert_as_qstat_has_it(jobs[job], pbs.job(job))
    assert "999.other" not in jobs
