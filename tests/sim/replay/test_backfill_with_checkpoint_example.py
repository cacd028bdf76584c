"""The picture of docs/policies.md, P3: what classic backfill leaves idle, and what a checkpoint at the promised time
makes of it."""

from __future__ import annotations

import pytest

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, QuotaSettings, Settings
from sim.replay.job_records import Replay
from sim.replay.named_policies import QUEUE, Policy
from sim.replay.replay import replay
from sim.workload.workload import Cluster, TraceJob, Workload

FOUR = Cluster(2, 2)
A, B, C, D, E = range(1, 6)

Lives = dict[int, tuple[tuple[float, float], ...]]


def picture() -> Workload:
    """Four cores: A holds two until 100, B two until 300, by their estimates as in truth. At 50 come C, which needs
    all four, and D and E, which need one each, ask for 300 s, and really run for 100 and 250 s."""
    return Workload(
        "picture",
        FOUR,
        (
            TraceJob(A, 0, 100, 100, 2, "a", "g"),
            TraceJob(B, 0, 300, 300, 2, "b", "g"),
            TraceJob(C, 50, 100, 100, 4, "c", "g"),
            TraceJob(D, 50, 100, 300, 1, "d", "g"),
            TraceJob(E, 50, 250, 300, 1, "e", "g"),
        ),
    )


def lives(settings: Settings) -> tuple[Lives, Replay]:
    result = replay(picture(), FOUR, Policy("picture", settings, Queue(QUEUE)))
    return {record.job.number: record.segments for record in result.records}, result


def checkpoint(cost_s: float) -> Settings:
    return Settings(
        BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=60),
        QuotaSettings(preempt=False),
        checkpoint=CheckpointSettings(saves=True, cost_s=cost_s),
    )


def test_classic_backfill_leaves_cores_idle() -> None:
    """A ends at 100; C does not fit until B ends at 300, and the 300 s of D and of E pass that. Two cores idle.

    ::

               0    50   100  150  200  250  300  350  400  450  500  550  600  650
        A  2   =========|
        B  2   =============================|
        C  4        .........................=========|
        D  1        ..................................=========|
        E  1        ..................................========================|
    """
    segments, result = lives(Settings(BackfillSettings("easy"), QuotaSettings(preempt=False)))
    assert segments == {
        A: ((0, 100),),
        B: ((0, 300),),
        C: ((300, 400),),
        D: ((400, 500),),
        E: ((400, 650),),
    }
    assert result.records[C - 1].head_delay_s == 0


@pytest.mark.parametrize("cost_s", [0, 20])
def test_with_a_checkpoint_at_the_promised_time_they_are_used(cost_s: float) -> None:
    """D and E are taken to run for half of 300 s, which ends inside the window. D does; E is cut when C is promised to
    start; C starts on time; what is left of E, and what saving it cost, runs after C.

    ::

               0    50   100  150  200  250  300  350  400  450  500
        A  2   =========|
        B  2   =============================|
        C  4        .........................=========|
        D  1        .....=========|
        E  1        .....====================/........=====|~~
    """
    segments, result = lives(checkpoint(cost_s))
    assert segments == {
        A: ((0, 100),),
        B: ((0, 300),),
        C: ((300, 400),),
        D: ((100, 200),),
        E: ((100, 300), (400, 450 + cost_s)),
    }
    assert [record.preemptions for record in result.records] == [0, 0, 0, 0, 1]
    assert result.records[C - 1].head_delay_s == 0
    assert (result.checkpoint_core_s, result.lost_core_s) == (cost_s, 0)
