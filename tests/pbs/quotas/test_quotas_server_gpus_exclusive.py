"""Quotas of the server, of GPUs beside cores, of exclusive jobs, and of jobs without `Rerunable`, on a real server."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench_pbs.testbed import calling, script
from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster


def wait_for_all(pbs: PbsCluster, jobs: Sequence[str]) -> None:
    pbs.wait_until(lambda: all(pbs.job_state(job) == "R" for job in jobs), 120.0, f"{jobs} run")


def test_the_servers_quota_counts_all_queues(pbs: PbsCluster) -> None:
    """alice holds 16 of 8 in two queues, neither of which has a quota; bob gets his 16 of 24."""
    pbs.qmgr("create queue short queue_type=execution,enabled=true,started=true")
    pbs.qmgr("set server max_run_res_soft.ncpus = '[u:alice=8],[u:bob=16]'")
    deploy_and_drive(pbs, quick_settings(), "workq", "short")
    alices = [pbs.qsub("alice", select="1:ncpus=8", queue=queue) for queue in ("workq", "short")]
    wait_for_all(pbs, alices)
    bobs = [pbs.qsub("bob", select="1:ncpus=8", queue=queue) for queue in ("workq", "short")]
    wait_for_all(pbs, bobs)
    assert sorted(pbs.job_state(job) for job in alices) == ["Q", "R"]


def test_gpus_count_beside_cores(pbs: PbsCluster) -> None:
    """Each vnode has 2 GPUs. alice is within her cores, but holds 4 GPUs of 2: one run makes room for bob's GPUs."""
    pbs.qmgr("create resource ngpus type=long,flag=nh")
    for vnode in pbs.mom_names:
        pbs.qmgr(f"set node {vnode} resources_available.ngpus = 2")
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:PBS_GENERIC=24]'")
    pbs.qmgr("set queue workq max_run_res_soft.ngpus = '[u:PBS_GENERIC=2]'")
    deploy_and_drive(pbs, quick_settings())
    alices = [pbs.qsub("alice", select="1:ncpus=1:ngpus=2") for _ in range(3)]
    wait_for_all(pbs, alices)
    bobs = pbs.qsub("bob", select="1:ncpus=1:ngpus=2")
    wait_for_all(pbs, [bobs])
    assert sorted(pbs.job_state(job) for job in alices) == ["Q", "R", "R"]
    second = pbs.qsub("bob", select="1:ncpus=1:ngpus=1")
    pbs.wait_until(lambda: "pbsteer" in pbs.job(second).get("comment", ""), 120.0, "a pass has told why it waits")
    assert pbs.job_state(second) == "Q"


def test_an_exclusive_job_counts_all_of_its_vnode(pbs: PbsCluster) -> None:
    """alice asks for one core on each of three vnodes alone: 24 of her 8, and bob gets one of them."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings())
    alices = [pbs.qsub("alice", select="1:ncpus=1", options=("-l", "place=excl")) for _ in range(3)]
    wait_for_all(pbs, alices)
    bobs = pbs.qsub("bob", select="1:ncpus=8")
    wait_for_all(pbs, [bobs])
    assert sorted(pbs.job_state(job) for job in alices) == ["Q", "R", "R"]


def test_chunks_without_cores_count_as_cores(pbs: PbsCluster) -> None:
    """Six GPUs, and only cores have quotas. alice's jobs take no core: each counts as two, of her two, and one more
    that may not be rerun waits beside idle GPUs. bob, within quota, gets a GPU of hers."""
    pbs.qmgr("create resource ngpus type=long,flag=nh")
    for vnode in pbs.mom_names:
        pbs.qmgr(f"set node {vnode} resources_available.ngpus = 2")
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=2],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings())
    ask = "2:ncpus=0:ngpus=1"
    kept = pbs.qsub("alice", select=ask, options=("-r", "n"))
    wait_for_all(pbs, [kept])
    refused = pbs.qsub("alice", select=ask, options=("-r", "n"))
    pbs.wait_until(lambda: "pbsteer" in pbs.job(refused).get("comment", ""), 120.0, "a pass has told why it waits")
    assert "would use 2 + 2 of a quota of 2" in pbs.job(refused)["comment"]
    over = [pbs.qsub("alice", select=ask) for _ in range(2)]
    wait_for_all(pbs, over)
    assert pbs.job_state(refused) == "Q"
    bobs = pbs.qsub("bob", select="1:ncpus=1:ngpus=1")
    wait_for_all(pbs, [bobs])
    assert sorted(pbs.job_state(job) for job in over) == ["Q", "R"]
    assert pbs.job_state(kept) == "R"


def test_jobs_of_programs_that_leave_rerunable_out_run_within_quota_only(pbs: PbsCluster) -> None:
    """qsub sends ``Rerunable`` with each job. PBS requeues no job without it, so alice's second one waits beside idle
    cores."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=8],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings())
    attributes = [("Resource_List", "select", "1:ncpus=8"), ("Resource_List", "walltime", "01:00:00")]
    with calling(pbs, "alice") as caller:
        within, beyond = caller.ask("submit", attributes=attributes, count=2, script=script(pbs, 3600), queue="workq")[
            "ids"
        ]
    assert "Rerunable" not in pbs.job(within)
    wait_for_all(pbs, [within])
    pbs.wait_until(lambda: "pbsteer" in pbs.job(beyond).get("comment", ""), 120.0, "a pass has told why it waits")
    assert "would use 8 + 8 of a quota of 8" in pbs.job(beyond)["comment"]
    assert pbs.job_state(beyond) == "Q"
