"""The layout ``auto`` on a real server, and what learning takes from PBS: the CPU time of runs."""

from __future__ import annotations

import pytest

from policy.model.allocation import parse_exec_vnode
from policy.model.pbs_units import parse_duration_s
from policy.settings.ranking_and_stripe_settings import StripeSettings
from tests.hooks.deploy_on_testbed import deploy, deploy_and_drive, quick_settings, state_of
from tests.pbs.cluster import PbsCluster

TEN_RANKS = "10:ncpus=1:mpiprocs=1"
"""Two of the three hosts, of eight cores each, hold them; the idle cores of all three are more than twice as many."""
AUTO = ("-l", "pbsteer_layout=auto")


def test_a_driven_job_is_striped_while_nodes_are_idle_and_packed_when_none_is(pbs: PbsCluster) -> None:
    """By its queue's layout, and by its own."""
    deploy_and_drive(pbs, quick_settings(stripe=StripeSettings(queues=(("workq", "auto"),))))
    for hosts, code, options in ((3, "striped", ()), (2, "packed", AUTO)):
        job_id = pbs.qsub("alice", "sleep 600\n", select=TEN_RANKS, options=options)
        pbs.wait_for_state(job_id, "R")
        assert (hosts, len(parse_exec_vnode(pbs.job(job_id)["exec_vnode"]).vnodes)) == (hosts, hosts)
        starts = [start for entry in state_of(pbs).read_journal(50) for start in entry["starts"]]
        (start,) = [start for start in starts if start["job"] == job_id]
        assert start["code"] == code
        assert "auto: the idle nodes" in start["why"]


def test_in_advise_the_select_follows_the_jobs_that_wait(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set server scheduling = False")
    first = pbs.qsub("alice", select=TEN_RANKS, options=AUTO)
    pbs.wait_until(lambda: pbs.job(first)["Resource_List"]["place"] == "scatter", 60.0, "a stripe")
    assert pbs.job(first)["Resource_List"]["select"].startswith("1:ncpus=4:")
    second = pbs.qsub("alice", select=TEN_RANKS, options=AUTO)

    def are_whole() -> bool:
        return all(pbs.job(job_id)["Resource_List"]["select"] == TEN_RANKS for job_id in (first, second))

    pbs.wait_until(are_whole, 60.0, "their own selects")


def test_in_advise_a_stripe_keeps_within_the_chunks_that_the_queue_takes(pbs: PbsCluster) -> None:
    """PBS would refuse the job."""
    pbs.qmgr("set queue workq resources_max.nodect = 2")
    deploy(pbs, quick_settings("advise"))
    pbs.qmgr("set server scheduling = False")
    job_id = pbs.qsub("alice", select="1:ncpus=6:mpiprocs=6", options=["-l", "pbsteer_width=3"])
    assert pbs.job(job_id)["Resource_List"]["nodect"] == 2
    job_id = pbs.qsub("alice", select="1:ncpus=6:mpiprocs=6", options=AUTO)
    assert pbs.job(job_id)["Resource_List"]["nodect"] == 1


def test_learning_compares_the_cpu_time_that_pbs_has_counted(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings(stripe=StripeSettings(layout="learn", learn_min_s=5)))
    busy = "timeout 30 sh -c 'while :; do :; done'\n"
    job_id = pbs.qsub("alice", busy, select="2:ncpus=1", options=["-l", "pbsteer_app=busy", "-l", "walltime=60"])
    pbs.wait_for_state(job_id, "F")
    pbs.wait_until(lambda: state_of(pbs).read_ledger()[0].learned, 60.0, "a pass that learns")
    (tally,) = state_of(pbs).read_ledger()[0].learned["u:alice:busy"].values()
    used = pbs.job(job_id)["resources_used"]
    cpu_s, wall_s = (parse_duration_s(used[name]) for name in ("cput", "walltime"))
    # What was counted last before the end stands for the whole run.
    assert tally.median == pytest.approx(cpu_s / (2 * wall_s), rel=0.5)
