"""Whole random workloads run to their end under random policies: every job its full time, none over and over again.

The livelock detector (docs/policies.md, "What must always hold"): the replay ends after a bounded number of passes,
each job has run what it had to run exactly once, plus what saving cost it and what it had to repeat, and heads start
when they were promised.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_law

import sim.replay.replay
from policy import Ledger, Plan, Settings, Snapshot, decide
from sim.replay.job_records import JobRecord, Replay
from sim.replay.named_policies import Policy
from sim.replay.replay import replay
from sim.workload.workload import Cluster, Workload
from tests.property.strategies.workload_and_policy_strategies import (
    cutting_policies,
    policies,
    preempting_policies,
    workloads,
)

Drawn = tuple[Workload, Cluster]

PASSES_A_JOB = 60


@contextmanager
def counted_passes(most: int, watch: Callable[[Plan], None] = lambda _plan: None) -> Iterator[Counter[str]]:
    """Counts the passes, lets ``watch`` see each, and ends a replay that takes more than ``most``."""
    seen: Counter[str] = Counter()

    def decide_and_count(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> Plan:
        seen["passes"] += 1
        assert seen["passes"] <= most, f"still busy after {most} passes"
        plan = decide(snapshot, ledger, settings)
        seen.update(preempt.reason.code for preempt in plan.preempts)
        watch(plan)
        return plan

    with mock.patch.object(sim.replay.replay, "decide", decide_and_count):
        yield seen


def to_the_end(drawn: Drawn, policy: Policy, watch: Callable[[Plan], None] = lambda _plan: None) -> Replay:
    """The replay, ended where it takes more passes than any that comes to rest."""
    workload, cluster = drawn
    with counted_passes(PASSES_A_JOB * len(workload.jobs) + 100, watch):
        return replay(workload, cluster, policy)


def ran_s(record: JobRecord) -> float:
    return sum(end_s - start_s for start_s, end_s in record.segments)


@given(workloads(), policies())
def test_every_job_ends(drawn: Drawn, policy: Policy) -> None:
    """But those that were preempted up to the cap and ask for more than a quota that counts them: these are counted."""
    plans: list[Plan] = []
    result = to_the_end(drawn, policy, plans.append)
    ended = {record.job.number for record in result.records}
    left = [job for job in drawn[0].jobs if job.number not in ended]
    assert result.skipped == ({"never startable under the policy": len(left)} if left else {})
    assert [record.job for record in result.records] == [job for job in drawn[0].jobs if job.number in ended]
    preempted = Counter(preempt.id for plan in plans for preempt in plan.preempts)
    by_quota = policy.settings.quota.preempt and bool(policy.queue.quotas)
    by_class = policy.settings.priority.preempt and bool(policy.queue.priorities)
    for job in left:
        reason = plans[-1].reason_of(str(job.number))
        assert reason is not None
        assert reason.code == "unpreemptible", (job, reason)
        assert by_quota or by_class
        assert preempted[str(job.number)] >= policy.settings.quota.cap
        limits = policy.queue.quotas.bounds(job.user, job.group, "")
        assert any(job.cores > limit for _, limit in limits), (job, limits)


@given(workloads(), policies())
def test_every_job_runs_its_full_time_exactly_once(drawn: Drawn, policy: Policy) -> None:
    """With what each saved cut charged; without saving the last run is the whole of it."""
    checkpoint = policy.settings.checkpoint
    for record in to_the_end(drawn, policy).records:
        if checkpoint.saves:
            cuts = sum(end_s > start_s for start_s, end_s in record.segments[:-1])
            expected_s = record.job.run_s + cuts * checkpoint.charge_s(record.job.cores)
            assert ran_s(record) == pytest.approx(expected_s, abs=1e-6)
        else:
            start_s, end_s = record.segments[-1]
            assert end_s - start_s == record.job.run_s


@given(workloads(), policies())
def test_what_was_charged_and_lost_is_what_the_segments_hold(drawn: Drawn, policy: Policy) -> None:
    result = to_the_end(drawn, policy)
    checkpoint = policy.settings.checkpoint
    beyond = sum((ran_s(record) - record.job.run_s) * record.job.cores for record in result.records)
    assert result.checkpoint_core_s + result.lost_core_s == pytest.approx(beyond, abs=1e-6)
    assert (result.lost_core_s if checkpoint.saves else result.checkpoint_core_s) == 0


@given(workloads(), policies())
def test_no_run_is_preempted_more_often_than_the_cap(drawn: Drawn, policy: Policy) -> None:
    for record in to_the_end(drawn, policy).records:
        assert record.preemptions <= policy.settings.quota.cap
        assert len(record.segments) == record.preemptions + 1


@given(workloads(), policies())
def test_runs_of_a_job_follow_one_another_on_cores_that_are_there(drawn: Drawn, policy: Policy) -> None:
    changes: list[tuple[float, int]] = []
    for record in to_the_end(drawn, policy).records:
        assert record.start_s >= record.job.submit_s
        assert all(one[1] <= two[0] for one, two in zip(record.segments, record.segments[1:]))
        for start_s, end_s in record.segments:
            changes += [(end_s, -record.job.cores), (start_s, record.job.cores)] if end_s > start_s else []
    busy = 0
    for _, cores in sorted(changes):
        busy += cores
        assert busy <= drawn[1].cores


@given(workloads(), cutting_policies(rescue=False))
def test_no_head_is_late_where_backfilled_jobs_are_cut(drawn: Drawn, policy: Policy) -> None:
    assert max(_delays(to_the_end(drawn, policy)), default=0) <= 0


@given(workloads(), cutting_policies(rescue=True))
def test_no_head_is_late_where_short_jobs_are_rescued(drawn: Drawn, policy: Policy) -> None:
    assert max(_delays(to_the_end(drawn, policy)), default=0) <= 0


@given(workloads(), preempting_policies())
def test_no_head_is_late_where_users_preempt(drawn: Drawn, policy: Policy) -> None:
    assert max(_delays(to_the_end(drawn, policy)), default=0) <= 0


@given(workloads(), policies())
def test_no_head_is_late_whatever_the_policy(drawn: Drawn, policy: Policy) -> None:
    assert max(_delays(to_the_end(drawn, policy)), default=0) <= 0


def _delays(result: Replay) -> list[float]:
    return [record.head_delay_s for record in result.records if record.head_delay_s is not None]


@given(workloads(), policies())
def test_a_replay_is_the_same_each_time(drawn: Drawn, policy: Policy) -> None:
    assert to_the_end(drawn, policy).records == to_the_end(drawn, policy).records


def test_the_drawn_replays_are_worth_it() -> None:
    """Among those drawn are preemptions by every rule, or these laws prove nothing."""
    seen: Counter[str] = Counter()

    @settings_of_law(max_examples=150)
    @given(workloads(), policies())
    def look(drawn: Drawn, policy: Policy) -> None:
        workload, cluster = drawn
        with counted_passes(PASSES_A_JOB * len(workload.jobs) + 100) as counted:
            replay(workload, cluster, policy)
        seen.update(counted.keys())

    look()
    codes = ("preempted-quota", "preempted-class", "cut-for-promise", "cut-for-rescue")
    assert min(seen[code] for code in codes) >= 5, seen
