"""The jobs of a trace run on the demo cluster as they were recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from policy.model.limit_attributes import parse_limits
from sim.demo.demo_cluster_with_hooks import DemoCluster
from sim.demo.trace_on_demo_cluster import MOST_NODES, furnish_for
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.requests.status_requests import stat_queues
from sim.workload.workload import Cluster, TraceJob, Workload

CLUSTER = Cluster(4, 8)


def a_trace(*jobs: TraceJob) -> Workload:
    return Workload("a.swf", CLUSTER, jobs)


def job(number: int, submit_s: float, cores: int, user: str = "12", run_s: float = 600) -> TraceJob:
    return TraceJob(number, submit_s, run_s, 1200, cores, user, "3")


@pytest.fixture
def cluster() -> Iterator[DemoCluster]:
    found = DemoCluster(trace=a_trace(job(1, 5000, 20), job(2, 5060, 8, "7"), job(3, 5060 + 86400, 1)))
    yield found
    found.close()


def test_it_is_the_cluster_of_the_trace_with_its_users_shares_as_quotas(cluster: DemoCluster) -> None:
    server_status = cluster.server_status()
    assert len(server_status.vnodes) == 4
    assert {vnode["resources_available.ncpus"] for vnode in server_status.vnodes.values()} == {"8"}
    # 20 x 600 and 1 x 600 core-seconds of 17,400 are user 12's: 23.2 of 32 cores, rounded up.
    assert server_status.queues["workq"]["max_run_res_soft.ncpus"] == "[u:12=24],[u:7=9]"


def test_users_of_any_name_have_their_shares_but_for_names_that_no_limit_can_hold() -> None:
    names = ("DOM\\alice", "o,brien", "o'neil", "a;b", "$(id)", "müller", "日本語", "[red]x[/red]", 'q"q')
    jobs = [job(number, 5000 + number, 1, name) for number, name in enumerate(names, start=1)]
    server = furnish_for(Clock(0.0), a_trace(*jobs))
    quotas = parse_limits(dict(stat_queues(server))["workq"]["max_run_res_soft.ncpus"], "here")
    assert {name for _, name in quotas.entries} == set(names[:-2])


def test_its_jobs_arrive_when_they_did_and_run_as_long_as_they_did(cluster: DemoCluster) -> None:
    (first,) = cluster.server_status().jobs.values()
    assert first["Resource_List.select"] == "2:ncpus=8+1:ncpus=4"
    assert first["Resource_List.walltime"] == "00:20:00"
    begun_s = cluster.now_s
    while cluster.now_s < begun_s + 120:
        cluster.step()
    assert [texts["job_state"] for texts in cluster.server_status().jobs.values()] == ["R", "R"]
    while cluster.now_s < begun_s + 800:
        cluster.step()
    assert cluster.server_status().jobs == {}
    ended = cluster.finished(3600)
    assert {texts["Job_Name"] for texts in ended.values()} == {"job_1", "job_2"}
    assert cluster.finished(1) == {}
    assert cluster.read("job", "0.demo") is None
    past = cluster.read("ended job", "0.demo")
    assert past is not None
    assert past["Exit_status"] == "0"


def test_a_trace_without_a_cluster_or_with_too_many_nodes_is_refused() -> None:
    trace = a_trace(job(1, 0, 1))
    with pytest.raises(ValueError, match="does not say on which cluster"):
        furnish_for(Clock(0.0), dataclasses.replace(trace, cluster=None))
    with pytest.raises(ValueError, match="at most 20,000"):
        furnish_for(Clock(0.0), dataclasses.replace(trace, cluster=Cluster(MOST_NODES + 1, 1)))
