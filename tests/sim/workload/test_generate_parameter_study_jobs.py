"""Campaigns: equal jobs, the applications in turn, at the load that was asked for."""

from __future__ import annotations

import math

import pytest

from sim.workload.generate_parameter_study_jobs import campaign
from sim.workload.workload import Cluster

NODES = Cluster(16, 32)


def test_equal_jobs_of_the_applications_in_turn_all_at_once() -> None:
    jobs = campaign(5, NODES, ["memory", "compute"]).jobs
    assert [job.application for job in jobs] == ["memory", "compute", "memory", "compute", "memory"]
    assert {(job.submit_s, job.run_s, job.estimate_s, job.cores) for job in jobs} == {(0, 1000, 3000, 64)}
    assert [job.number for job in jobs] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("load", [0.3, 1.0, 2.5])
def test_the_offered_load_is_the_one_asked_for(load: float) -> None:
    jobs = campaign(1001, NODES, ["mixed"], load).jobs
    core_s = sum(job.cores * job.run_s for job in jobs[1:])
    assert core_s / (NODES.cores * jobs[-1].submit_s) == pytest.approx(load, rel=1e-3)


@pytest.mark.parametrize(
    ("jobs", "applications", "load", "cluster", "said"),
    [
        (0, ["memory"], None, NODES, "jobs 0: must be from 1"),
        (5, [], None, NODES, "applications: none is given"),
        (5, ["memory", ""], None, NODES, "application '': must be one of communication, compute, memory, mixed"),
        (5, ["memory"], 0, NODES, "load 0: must be above 0"),
        (5, ["memory"], math.nan, NODES, "load nan: must be above 0"),
        (5, ["memory"], None, Cluster(1, 32), "cluster 1x32: each job of a campaign takes 2 whole nodes"),
    ],
)
def test_what_makes_no_sense_is_refused(
    jobs: int, applications: list[str], load: float | None, cluster: Cluster, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        campaign(jobs, cluster, applications, load)
