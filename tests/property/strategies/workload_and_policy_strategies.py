"""Random workloads for the simulator, and policies of every kind to replay them under."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.model.limit_attributes import Limits
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import (
    BACKFILL_ORDERS,
    VICTIM_ORDERS,
    BackfillSettings,
    PrioritySettings,
    QuotaSettings,
    Settings,
)
from sim.replay.named_policies import QUEUE, Policy
from sim.workload.workload import Cluster, TraceJob, Workload
from tests.property.strategies.cluster_strategies import GROUPS, USERS, rankings
from tests.property.strategies.made_once import sampled_from
from tests.property.strategies.settings_strategies import backfills, checkpoints, cutting_settings, priorities, rescues


@st.composite
def workloads(draw: st.DrawFn, *, most: int = 25, exact: bool = False) -> tuple[Workload, Cluster]:
    """A trace and its cluster. Exact: each job runs as long as its estimate."""
    cluster = Cluster(draw(st.integers(1, 6)), draw(st.integers(1, 4)))
    trace = []
    submit_s = 0
    for number in range(1, draw(sampled_from((most // 2, most, most // 3, 1))) + 1):
        submit_s += draw(sampled_from((0, 0, 5, 10, 40)))
        run_s = draw(sampled_from((0, 1, 10, 10, 20, 50, 200)))
        estimate_s = max(1, run_s) if exact else max(1, run_s + draw(sampled_from((0, 0, 10, 100, 400))))
        user, group = draw(sampled_from(USERS)), draw(sampled_from(GROUPS))
        cores = draw(st.integers(1, cluster.cores))
        trace.append(TraceJob(number, submit_s, max(run_s, 1) if exact else run_s, estimate_s, cores, user, group))
    return Workload("drawn", cluster, tuple(trace)), cluster


@st.composite
def quota_policies(draw: st.DrawFn) -> Policy:
    """P1 with any order of victims, delays and exempt times, and quotas between nothing and plenty."""
    backfill = BackfillSettings(order=draw(sampled_from(BACKFILL_ORDERS)))
    settings = Settings(backfill, draw(_quotas(cap=3)), schedule=ScheduleSettings(max_starts=1_000_000))
    return Policy("quota", settings, Queue(QUEUE, quotas=draw(_limits())))


@st.composite
def _limits(draw: st.DrawFn) -> Limits:
    cores = st.sampled_from((0, 24, 2, 12, 4, 0, 6))
    entries = {("u", user): draw(cores) for user in USERS if draw(sampled_from((True, True, True, False)))}
    if draw(sampled_from((False, False, False, False, True))):
        entries["g", "chem"] = draw(cores)
    return Limits(entries)


def _quotas(*, cap: int | None = None) -> st.SearchStrategy[QuotaSettings]:
    return st.builds(
        QuotaSettings,
        victim_order=st.sampled_from(VICTIM_ORDERS),
        delay_s=st.sampled_from((0, 0, 7, 30)),
        delay_per_core_s=st.sampled_from((0, 0, 3)),
        exempt_s=st.sampled_from((0, 0, 15)),
        max_preemptions=st.sampled_from((3, 1, 4, 0)) if cap is None else st.just(cap),
    )


def _policy(settings: Settings, queue: Queue) -> Policy:
    return Policy("drawn", replace(settings, schedule=ScheduleSettings(max_starts=1_000_000)), queue)


@st.composite
def preempting_policies(draw: st.DrawFn) -> Policy:
    """Rules A and B, one or both, with estimates as they are."""
    rule_a, rule_b = draw(sampled_from(((True, False), (False, True), (True, True))))
    settings = Settings(
        backfill=draw(backfills("easy", "easy", "none")),
        quota=replace(draw(_quotas()), preempt=rule_a),
        priority=draw(priorities(rule_b)),
        checkpoint=draw(checkpoints()),
    )
    queue = Queue(QUEUE, quotas=draw(_limits()), priorities=draw(rankings()) if rule_b else Limits())
    return _policy(settings, queue)


@st.composite
def cutting_policies(draw: st.DrawFn, *, rescue: bool) -> Policy:
    """P3 with cuts, with the rescue or without, and no other preemption."""
    settings = draw(cutting_settings(rescue=rescue))
    return _policy(replace(settings, priority=PrioritySettings(preempt=False)), Queue(QUEUE))


@st.composite
def everything(draw: st.DrawFn) -> Policy:
    """All rules at once."""
    settings = Settings(
        backfill=draw(backfills("checkpoint")),
        quota=draw(_quotas()),
        priority=draw(priorities(True)),
        checkpoint=draw(checkpoints()),
        rescue=draw(rescues()),
    )
    return _policy(settings, Queue(QUEUE, quotas=draw(_limits()), priorities=draw(rankings())))


def policies() -> st.SearchStrategy[Policy]:
    """Policies of every kind."""
    return st.one_of(
        quota_policies(),
        preempting_policies(),
        cutting_policies(rescue=False),
        cutting_policies(rescue=True),
        everything(),
    )
