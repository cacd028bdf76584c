"""Quotas of groups, projects and several queues, and who is never a victim, on a real server."""

from __future__ import annotations

from policy.settings.site_settings import QuotaSettings
from tests.hooks.deploy_on_testbed import wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven, why_it_waits


def fill(pbs: PbsCluster, user: str, *options: str, queue: str | None = None) -> list[str]:
    """One job of the user on all of each vnode."""
    jobs = [pbs.qsub(user, select="1:ncpus=8", options=list(options), queue=queue) for _ in pbs.mom_names]
    for each in jobs:
        pbs.wait_for_state(each, "R")
    return jobs


def running(pbs: PbsCluster, jobs: list[str]) -> int:
    return sum(pbs.job_state(job_id) == "R" for job_id in jobs)


def test_a_group_over_its_quota_makes_room(pbs: PbsCluster) -> None:
    group = pbs.run(["id", "-gn"], user="alice").demand_success().stdout.strip()
    pbs.qmgr(f"set queue workq max_run_res_soft.ncpus = '[g:{group}=16],[u:bob=8]'")
    driven(pbs)
    alices = fill(pbs, "alice")
    others = pbs.run(["id", "-gn"], user="bob").demand_success().stdout.strip()
    bobs = pbs.qsub("bob", select="1:ncpus=8")
    if others == group:
        assert "quota" in why_it_waits(pbs, bobs)
    else:
        pbs.wait_for_state(bobs, "R")
        assert running(pbs, alices) == 2


def test_a_project_over_its_quota_makes_room(pbs: PbsCluster) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[p:wide=8],[p:narrow=8]'")
    driven(pbs)
    wide = fill(pbs, "alice", "-P", "wide")
    narrow = pbs.qsub("bob", select="1:ncpus=8", options=["-P", "narrow"])
    pbs.wait_for_state(narrow, "R")
    assert running(pbs, wide) == 2
    second = pbs.qsub("bob", select="1:ncpus=8", options=["-P", "narrow"])
    why_it_waits(pbs, second)
    assert running(pbs, [second, narrow, *wide]) == 3
    assert running(pbs, [narrow, *wide]) == 3


def test_each_queue_judges_its_jobs_by_its_own_quotas(pbs: PbsCluster) -> None:
    pbs.qmgr(
        "create queue other queue_type=e,enabled=t,started=t",
        "set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8]'",
        "set queue other max_run_res_soft.ncpus = '[u:alice=24]'",
    )
    driven(pbs, "workq", "other")
    in_other = [pbs.qsub("alice", select="1:ncpus=8", queue="other")]
    in_workq = [pbs.qsub("alice", select="1:ncpus=8") for _ in range(2)]
    for each in in_other + in_workq:
        pbs.wait_for_state(each, "R")
    bobs = pbs.qsub("bob", select="1:ncpus=8")
    pbs.wait_for_state(bobs, "R")
    assert (running(pbs, in_other), running(pbs, in_workq)) == (1, 1)


def test_a_job_that_cannot_be_run_again_is_never_a_victim(pbs: PbsCluster) -> None:
    """The site lets such jobs start over quota."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8]'")
    driven(pbs, quota=QuotaSettings(confine_unpreemptible=False))
    alices = fill(pbs, "alice", "-r", "n")
    bobs = pbs.qsub("bob", select="1:ncpus=8")
    why_it_waits(pbs, bobs)
    wait_for_pass(pbs)
    assert running(pbs, alices) == len(alices)
    assert pbs.job_state(bobs) == "Q"
