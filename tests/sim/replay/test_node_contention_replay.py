"""Replays in which jobs that share nodes slow each other down."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.model.limit_attributes import Limits
from policy.settings.site_settings import CheckpointSettings, QuotaSettings, Settings
from sim.replay.job_records import Replay
from sim.replay.named_policies import QUEUE, Policy, resolve
from sim.replay.replay import replay
from sim.workload.application_contention_traits import KINDS
from sim.workload.generate_parameter_study_jobs import campaign
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster, TraceJob, Workload
from tests.sim.run_applications_on_shared_nodes import NODES, Task, run_shared

NODE = Cluster(1, 4)
"""One node of 4 cores, 24 GB/s. Two memory-bound ranks draw just that; four of them take 1.8 times as long."""


def a(number: int, submit_s: float, run_s: float, cores: int, application: str, user: str = "alice") -> TraceJob:
    return TraceJob(number, submit_s, run_s, max(1, run_s), cores, user, "g", application)


def contended(policy: str | Policy, *jobs: TraceJob, cluster: Cluster = NODE) -> Replay:
    workload = Workload("test", cluster, jobs, generated=True)
    if isinstance(policy, str):
        policy = resolve(policy, workload, cluster)
    return replay(workload, cluster, policy, contention=True)


def segments(result: Replay) -> dict[int, tuple[tuple[float, float], ...]]:
    return {record.job.number: record.segments for record in result.records}


def test_a_job_beside_another_takes_longer_and_is_not_killed_at_its_estimate() -> None:
    """40 of 100 s are done when 2 comes; 60 take 108 s from then on, in which 2 does 60, and 40 alone.

    ::

        1  ====>>>>>>>>>>>
        2      >>>>>>>>>>>====
    """
    result = contended("easy", a(1, 0, 100, 2, "memory"), a(2, 40, 100, 2, "memory"))
    assert [record.start_s for record in result.records] == [0, 40]
    assert [record.end_s for record in result.records] == pytest.approx([148, 188])


def test_a_head_waits_for_those_that_outlive_their_estimates() -> None:
    """1 and 2 are estimated to end at 100, the time promised to 3; beside each other they end at 180."""
    result = contended("easy", a(1, 0, 100, 2, "memory"), a(2, 0, 100, 2, "memory"), a(3, 5, 10, 4, "compute"))
    assert result.records[2].start_s == pytest.approx(180)
    assert result.records[2].head_delay_s == pytest.approx(80)


def test_alone_and_packed_it_takes_what_was_recorded() -> None:
    assert segments(contended("easy", a(1, 0, 100, 4, "memory"))) == {1: ((0, 100),)}


def test_what_ends_together_ends_in_one_moment() -> None:
    result = contended("easy", a(1, 0, 100, 2, "memory"), a(2, 0, 100, 2, "memory"), a(3, 0, 7, 4, "compute"))
    ends = {number: runs[-1][1] for number, runs in segments(result).items()}
    assert ends[1] == ends[2] == pytest.approx(180)
    assert segments(result)[3] == ((ends[1], ends[1] + 7),)


def test_a_job_without_an_application_is_taken_for_its_users() -> None:
    result = contended("easy", a(1, 0, 100, 2, "", "memory-x"), a(2, 0, 100, 2, "", "memory-y"))
    assert result.records[0].end_s == pytest.approx(180)


@pytest.mark.parametrize(
    ("checkpoint", "end_s", "charged_core_s", "lost_core_s"),
    [
        (CheckpointSettings(saves=True, cost_s=10), 100 + 60 * 1.8, 2 * 2 * 10, 0),
        (CheckpointSettings(saves=False), 100 + 100 * 1.8, 0, 2 * 2 * 50),
    ],
)
def test_what_a_preempted_job_has_done_goes_by_its_pace(
    checkpoint: CheckpointSettings, end_s: float, charged_core_s: float, lost_core_s: float
) -> None:
    """Both of alice's jobs have done 50 s in 90 when bob takes the node for 10."""
    queue = Queue(QUEUE, quotas=Limits({("u", "alice"): 0, ("u", "bob"): 4}))
    policy = Policy("saving", Settings(quota=QuotaSettings(), checkpoint=checkpoint), queue)
    result = contended(policy, a(1, 0, 100, 2, "memory"), a(2, 0, 100, 2, "memory"), a(3, 90, 10, 4, "compute", "bob"))
    assert segments(result)[3] == ((90, 100),)
    for record in result.records[:2]:
        assert [run[0] for run in record.segments] == [0, 100]
        assert [run[1] for run in record.segments] == pytest.approx([90, end_s])
    assert result.checkpoint_core_s == charged_core_s
    assert result.lost_core_s == pytest.approx(lost_core_s)


@pytest.mark.parametrize("policy", ["easy", "quota", "checkpoint-sjbf", "checkpoint-rescue"])
@pytest.mark.parametrize("seed", range(3))
def test_on_nodes_of_one_core_nothing_is_shared_and_nothing_changes(policy: str, seed: int) -> None:
    cluster = Cluster(32, 1)
    workload = generate(150, cluster, users=4, seed=seed, load=1.2)
    chosen = resolve(policy, workload, cluster)
    shared, alone = (replay(workload, cluster, chosen, contention=each) for each in (True, False))
    assert shared.records == alone.records
    assert (shared.checkpoint_core_s, shared.lost_core_s) == (alone.checkpoint_core_s, alone.lost_core_s)


@pytest.mark.parametrize("policy", ["packed", "striped", "learned", "quota", "checkpoint-rescue"])
def test_every_job_ends_under_every_policy(policy: str) -> None:
    cluster = Cluster(8, 8)
    drawn = generate(200, cluster, users=5, seed=3, load=1.1)
    workload = replace(drawn, jobs=tuple(shuffled_applications(drawn.jobs)))
    result = replay(workload, cluster, resolve(policy, workload, cluster), contention=True)
    assert len(result.records) == len(workload.jobs)


def shuffled_applications(jobs: Sequence[TraceJob]) -> list[TraceJob]:
    draw = random.Random(4)
    return [replace(job, application=draw.choice(sorted(KINDS))) for job in jobs]


@pytest.mark.parametrize("applications", [("memory", "compute"), ("communication",), tuple(KINDS)])
@pytest.mark.parametrize(("policy", "layout"), [("packed", "pack"), ("striped", "stripe"), ("learned", "learn")])
def test_a_campaign_ends_as_step_by_step(applications: tuple[str, ...], policy: str, layout: str) -> None:
    """The same jobs, driven from one start or end to the next without a heap of ends."""
    workload = campaign(60, NODES, applications)
    tasks = [Task(job.application, 0) for job in workload.jobs]
    stepped = run_shared(tasks, layout).spans
    result = replay(workload, NODES, resolve(policy, workload, NODES), contention=True)
    assert [record.segments for record in result.records] == [(stepped[number],) for number in range(60)]
