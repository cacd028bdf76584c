"""The simulator's replay of whole workloads: against an independent count, and by what every policy owes every job."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model.jobs_runs_vnodes_queues import HardLimits, Queue
from policy.model.limit_attributes import Limits
from policy.settings.site_settings import QuotaSettings, Settings
from sim.replay.named_policies import QUEUE, Policy, resolve
from sim.replay.replay import replay
from sim.workload.workload import Cluster, Workload
from tests.property.strategies.cluster_strategies import USERS
from tests.property.strategies.workload_and_policy_strategies import quota_policies, workloads
from tests.sim.easy_by_counting import count

Drawn = tuple[Workload, Cluster]


@pytest.mark.parametrize("name", ["fcfs", "easy", "easy-sjbf"])
@given(workloads())
def test_starts_are_those_of_an_independent_count(name: str, drawn: Drawn) -> None:
    workload, cluster = drawn
    counted = {record.job.number: record for record in count(workload, cluster.cores, name)}
    records = replay(workload, cluster, resolve(name, workload, cluster)).records
    assert len(records) == len(workload.jobs)
    assert {r.job.number: r.start_s for r in records} == {n: r.start_s for n, r in counted.items()}
    if name != "fcfs":
        assert {r.job.number: r.head_delay_s for r in records} == {n: r.head_delay_s for n, r in counted.items()}


@given(workloads(), quota_policies())
def test_every_job_runs_its_full_time_in_its_last_segment(drawn: Drawn, policy: Policy) -> None:
    workload, cluster = drawn
    result = replay(workload, cluster, policy)
    ended = {record.job.number for record in result.records}
    assert [record.job for record in result.records] == [job for job in workload.jobs if job.number in ended]
    # What was preempted up to the cap starts only within quota: never where it asks for more than that.
    left = [job for job in workload.jobs if job.number not in ended]
    assert sum(result.skipped.values()) == len(left)
    assert all(job.cores > min(b.limit for b in policy.queue.quotas.bounds(job.user, job.group, "")) for job in left)
    for record in result.records:
        start_s, end_s = record.segments[-1]
        assert end_s - start_s == record.job.run_s
        assert len(record.segments) == record.preemptions + 1
        assert record.start_s >= record.job.submit_s
        assert all(one[1] <= two[0] for one, two in zip(record.segments, record.segments[1:]))


@given(workloads(), quota_policies())
def test_no_more_cores_are_busy_than_there_are(drawn: Drawn, policy: Policy) -> None:
    workload, cluster = drawn
    changes: list[tuple[float, int]] = []
    for record in replay(workload, cluster, policy).records:
        for start_s, end_s in record.segments:
            changes += [(end_s, -record.job.cores), (start_s, record.job.cores)] if end_s > start_s else []
    busy = 0
    for _, cores in sorted(changes):
        busy += cores
        assert busy <= cluster.cores


@given(workloads(), quota_policies())
def test_lost_work_is_what_the_cut_segments_held(drawn: Drawn, policy: Policy) -> None:
    workload, cluster = drawn
    result = replay(workload, cluster, policy)
    cut = sum((e - s) * record.job.cores for record in result.records for s, e in record.segments[:-1])
    assert result.lost_core_s == cut


@given(workloads(exact=True), quota_policies())
def test_promises_are_kept_where_estimates_are_exact(drawn: Drawn, policy: Policy) -> None:
    workload, cluster = drawn
    for record in replay(workload, cluster, policy).records:
        assert record.head_delay_s is None or record.head_delay_s <= 0


@given(workloads(), st.dictionaries(st.sampled_from(USERS), st.integers(0, 8), min_size=1))
def test_hard_limits_are_kept(drawn: Drawn, most: dict[str, int]) -> None:
    workload, cluster = drawn
    limits = Limits({("u", user): cores for user, cores in most.items()})
    queue = Queue(QUEUE, hard=HardLimits(max_run_res={"ncpus": limits}))
    policy = Policy("hard-limit", Settings(quota=QuotaSettings(preempt=False)), queue)
    result = replay(workload, cluster, policy)
    for user, cores in most.items():
        runs = [record for record in result.records if record.job.user == user]
        for moment in {record.start_s for record in runs}:
            held = sum(r.job.cores for r in runs if r.segments[0][0] <= moment < r.segments[0][1])
            assert held <= cores
    too_large = [job for job in workload.jobs if job.cores > most.get(job.user, cluster.cores)]
    assert sum(result.skipped.values()) == len(too_large)
