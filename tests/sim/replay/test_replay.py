"""Whole workloads through the engine: known figures of a recorded trace, and small timelines drawn out."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from policy.model.jobs_runs_vnodes_queues import HardLimits, Queue
from policy.model.limit_attributes import Limits
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, QuotaSettings, RescueSettings, Settings
from sim.replay.job_records import JobRecord, Replay
from sim.replay.metrics import measure
from sim.replay.named_policies import QUEUE, Policy, resolve
from sim.replay.replay import replay, vnodes_of
from sim.traces.read_swf import read_swf
from sim.workload.workload import Cluster, TraceJob, Workload
from tests.sim.small_jobs_and_replays import KTH, needs

FOUR = Cluster(2, 2)


def trace(*jobs: TraceJob) -> Workload:
    return Workload("test", FOUR, jobs, generated=True)


def a(number: int, submit_s: float, run_s: float, cores: int, user: str = "alice", estimate_s: float = 0) -> TraceJob:
    return TraceJob(number, submit_s, run_s, estimate_s or max(1, run_s), cores, user, "g")


def with_quotas(quotas: dict[str, int], **changed: object) -> Policy:
    settings = Settings(quota=QuotaSettings(**changed))  # type: ignore[arg-type]
    return Policy("quota", settings, Queue(QUEUE, quotas=Limits({("u", user): q for user, q in quotas.items()})))


def saving(quotas: dict[str, int], checkpoint: CheckpointSettings, **changed: object) -> Policy:
    policy = with_quotas(quotas, **changed)
    return replace(policy, settings=replace(policy.settings, checkpoint=checkpoint))


def shrinking(checkpoint: CheckpointSettings, rescue: RescueSettings | None = None, **backfill: object) -> Policy:
    """Backfilling by half of the estimate above 50 s, unless said otherwise."""
    how = {"kind": "checkpoint", "shrink_factor": 0.5, "shrink_threshold_s": 50, **backfill}
    settings = Settings(
        BackfillSettings(**how),  # type: ignore[arg-type]
        QuotaSettings(preempt=False),
        checkpoint=checkpoint,
        rescue=rescue or RescueSettings(),
    )
    return Policy("shrinking", settings, Queue(QUEUE))


def segments(result: Replay) -> dict[int, tuple[tuple[float, float], ...]]:
    return {record.job.number: record.segments for record in result.records}


def of(result: Replay, number: int) -> JobRecord:
    return next(record for record in result.records if record.job.number == number)


@needs(KTH)
@pytest.mark.parametrize(
    ("policy", "mean_wait_s", "mean_bounded_slowdown"), [("easy", 6351.5, 86.37), ("easy-sjbf", 5623.4, 66.40)]
)
def test_kth_gives_the_figures_of_an_independent_implementation(
    policy: str, mean_wait_s: float, mean_bounded_slowdown: float
) -> None:
    workload = read_swf(KTH)
    cluster = Cluster(100, 1)
    metrics = measure(replay(workload, cluster, resolve(policy, workload, cluster)))
    assert metrics.mean_wait_s == pytest.approx(mean_wait_s, rel=0.005)
    assert metrics.mean_bounded_slowdown == pytest.approx(mean_bounded_slowdown, rel=0.005)


def batch(seed: int) -> Workload:
    """P1's own experiment, smaller: users whose batches of jobs come at any time of a week; cores, hours at random."""
    draw = random.Random(seed)
    jobs = []
    for user in range(6):
        for _ in range(draw.randint(1, 40)):
            submit_s, hours = draw.randint(0, 168 * 3600), draw.randint(1, 24)
            jobs.append((submit_s, hours * 3600, draw.randint(1, 5), f"u{user}"))
    jobs.sort()
    drawn = [a(number, submit, run_s, cores, user) for number, (submit, run_s, cores, user) in enumerate(jobs, start=1)]
    return Workload("batch", Cluster(10, 3), tuple(drawn), generated=True)


def test_a_soft_quota_idles_less_than_a_hard_limit() -> None:
    """Table 1 of P1's source: in every setting, averaged over batches."""
    ratios: dict[str, list[float]] = {"quota": [], "hard-limit": []}
    for seed in range(10):
        workload = batch(seed)
        cluster = Cluster(10, 3)
        for name, values in ratios.items():
            result = replay(workload, cluster, resolve(name, workload, cluster))
            assert len(result.records) == len(workload.jobs)
            values.append(measure(result).idle_ratio)
    assert sum(ratios["quota"]) < sum(ratios["hard-limit"])


def test_a_preempted_job_runs_again_from_its_beginning() -> None:
    """alice's 4 cores go to bob, who is within quota, at 40, and come back at 90.

    ::

        1  ====     ==========
        2      =====
    """
    workload = trace(a(1, 0, 100, 4), a(2, 40, 50, 3, "bob"))
    result = replay(workload, FOUR, with_quotas({"alice": 0, "bob": 3}))
    assert segments(result) == {1: ((0, 40), (90, 190)), 2: ((40, 90),)}
    assert (of(result, 1).preemptions, of(result, 2).preemptions) == (1, 0)
    assert result.lost_core_s == 160
    metrics = measure(result)
    assert (metrics.preemptions, metrics.preempted_jobs, metrics.lost_core_s) == (1, 1, 160)
    assert metrics.mean_wait_s == (90 + 0) / 2


@pytest.mark.parametrize(
    ("checkpoint", "charge_s"),
    [
        (CheckpointSettings(saves=True, cost_s=0), 0),
        (CheckpointSettings(saves=True, cost_s=10), 10),
        (CheckpointSettings(saves=True, cost_s=10, restart_s=5), 15),
        (CheckpointSettings(saves=True, cost_s=2, cost_per_core_s=3, restart_per_core_s=0.5), 2 + 4 * 3.5),
        (CheckpointSettings(saves=True, cost_s=60), 60),
    ],
)
def test_a_preempted_job_that_saves_goes_on_where_it_was(checkpoint: CheckpointSettings, charge_s: float) -> None:
    """alice's 4 cores go to bob at 40 and come back at 90: of 100 s 60 are left, and what saving and restarting costs.

    ::

        1  ====     ======~
        2      =====
    """
    workload = trace(a(1, 0, 100, 4), a(2, 40, 50, 3, "bob"))
    result = replay(workload, FOUR, saving({"alice": 0, "bob": 3}, checkpoint))
    assert segments(result) == {1: ((0, 40), (90, 150 + charge_s)), 2: ((40, 90),)}
    assert (result.lost_core_s, result.checkpoint_core_s) == (0, charge_s * 4)


def test_each_cut_is_charged_and_only_what_is_left_runs_again() -> None:
    """Cut at 20 with 20 s done and at 40 with 15 more: 65 of 100 s are left, and twice 10 for saving.

    ::

        1  ====.===.=================~~
        2      =
        3          =
    """
    workload = trace(a(1, 0, 100, 4), a(2, 20, 5, 4, "bob"), a(3, 40, 5, 4, "bob"))
    result = replay(workload, FOUR, saving({"alice": 0, "bob": 4}, CheckpointSettings(saves=True, cost_s=10)))
    assert of(result, 1).segments == ((0, 20), (25, 40), (45, 45 + 65 + 20))
    assert (of(result, 1).preemptions, result.checkpoint_core_s) == (2, 2 * 10 * 4)


def test_a_job_cut_in_the_second_it_started_is_charged_nothing() -> None:
    """1 starts and is preempted at 40, in one moment: nothing was done that would be saved."""
    workload = trace(a(1, 40, 100, 4), a(2, 40, 50, 4, "bob"))
    result = replay(workload, FOUR, saving({"alice": 0, "bob": 4}, CheckpointSettings(saves=True, cost_s=10)))
    assert of(result, 1).segments[-1] == (90, 190)
    assert result.checkpoint_core_s == 0


def backfilled_and_cut() -> Workload:
    """1 holds 2 of 4 cores until 100, when 2 is promised all; 3, of 150 s, is let in by half of that."""
    return trace(a(1, 0, 100, 2), a(2, 10, 50, 4, "bob"), a(3, 10, 150, 2, "carol"))


def test_a_backfilled_job_is_cut_at_the_promised_time() -> None:
    """

    ::

        1  ==========
        2            =====
        3   =========     ======~
    """
    result = replay(backfilled_and_cut(), FOUR, shrinking(CheckpointSettings(saves=True, cost_s=7)))
    assert segments(result) == {1: ((0, 100),), 2: ((100, 150),), 3: ((10, 100), (150, 150 + 60 + 7))}
    assert of(result, 2).head_delay_s == 0
    assert (result.checkpoint_core_s, result.lost_core_s) == (7 * 2, 0)


def test_one_that_repeats_its_work_loses_it() -> None:
    """No job saves, but up to 90 s may be repeated, which is just what 3 does until the promised time."""
    result = replay(backfilled_and_cut(), FOUR, shrinking(CheckpointSettings(repeat_at_most_s=90)))
    assert of(result, 3).segments == ((10, 100), (150, 300))
    assert (result.checkpoint_core_s, result.lost_core_s) == (0, 90 * 2)


def test_one_that_would_have_too_much_to_repeat_is_let_in_once_it_has_not() -> None:
    """At 10 it would have 90 s to repeat, a second later 89."""
    result = replay(backfilled_and_cut(), FOUR, shrinking(CheckpointSettings(repeat_at_most_s=89)))
    assert of(result, 3).segments == ((11, 100), (150, 300))


@pytest.mark.parametrize(("order", "starts"), [("first-come", {3: 10, 4: 40}), ("shortest-first", {3: 30, 4: 10})])
def test_the_order_in_which_candidates_are_tried(order: str, starts: dict[int, float]) -> None:
    """Two cores beside 1 until 100, promised to 2; 3 and 4 both fit there, one at a time."""
    workload = trace(a(1, 0, 100, 2), a(2, 10, 50, 4, "b"), a(3, 10, 30, 2, "c"), a(4, 10, 20, 2, "d"))
    result = replay(workload, FOUR, shrinking(CheckpointSettings(saves=True), order=order))
    assert {number: of(result, number).start_s for number in starts} == starts


@pytest.mark.parametrize(("predictor", "start_s"), [("none", 300), ("last-two", 25), ("ratio", 25)])
def test_runs_that_have_ended_feed_the_predictor(predictor: str, start_s: float) -> None:
    """carol's first two jobs ran for 10 of 1,000 s. By that her third ends before 4 has its cores; by half of 1,000 s
    it would not."""
    workload = trace(
        a(1, 0, 10, 1, "carol", 1000),
        a(2, 10, 10, 1, "carol", 1000),
        a(3, 20, 200, 2, "alice"),
        a(4, 20, 80, 4, "bob"),
        a(5, 25, 10, 1, "carol", 1000),
    )
    policy = shrinking(CheckpointSettings(saves=True), predictor=predictor)
    assert of(replay(workload, FOUR, policy), 5).start_s == start_s


def test_a_short_job_is_rescued_and_the_long_one_goes_on_after_it() -> None:
    """2 is short by its estimate and has waited twice that at 1,000: 1, which has run for long enough, is cut for it.

    ::

        1  ==========  ==========
        2            ==
    """
    rescue = RescueSettings(enabled=True, short_s=100, exempt_s=500, left_least_s=500)
    workload = trace(a(1, 0, 2000, 4), a(2, 800, 100, 2, "bob"))
    policy = shrinking(CheckpointSettings(saves=True, cost_s=5), rescue, shrink_threshold_s=100)
    result = replay(workload, FOUR, policy)
    assert segments(result) == {1: ((0, 1000), (1100, 2105)), 2: ((1000, 1100),)}
    assert of(result, 2).head_delay_s == -1000


def test_a_job_is_preempted_no_more_often_than_the_cap() -> None:
    workload = trace(a(1, 0, 100, 4), *(a(number, number * 10, 5, 4, "bob") for number in range(2, 9)))
    quotas = with_quotas({"alice": 0, "bob": 4}, max_preemptions=2, confine_unpreemptible=False)
    result = replay(workload, FOUR, quotas)
    assert of(result, 1).preemptions == 2
    assert of(result, 1).segments == ((0, 20), (25, 30), (35, 135))


def test_a_job_preempted_up_to_the_cap_starts_within_quota_only() -> None:
    """Preempted at 20 and at 30, alice's job could not be preempted again; without a quota it never starts."""
    workload = trace(a(1, 0, 100, 4), *(a(number, number * 10, 5, 4, "bob") for number in range(2, 9)))
    result = replay(workload, FOUR, with_quotas({"alice": 0, "bob": 4}, max_preemptions=2))
    assert [record.job.number for record in result.records] == [2, 3, 4, 5, 6, 7, 8]
    assert result.skipped == {"never startable under the policy": 1}


@pytest.mark.parametrize(
    ("changed", "at_s"),
    [
        ({}, 10),
        ({"delay_s": 25}, 35),
        ({"delay_per_core_s": 5}, 30),
        ({"delay_s": 5, "delay_per_core_s": 5}, 35),
        ({"exempt_s": 60}, 60),
        ({"exempt_s": 20, "delay_s": 60}, 70),
        ({"max_preemptions": 0}, 100),
    ],
)
def test_a_delay_or_an_exempt_time_that_ends_wakes_the_replay(changed: dict[str, float], at_s: float) -> None:
    """Nothing else happens between 10, when bob submits, and 100, when alice's job ends."""
    workload = trace(a(1, 0, 100, 4), a(2, 10, 5, 4, "bob"))
    result = replay(workload, FOUR, with_quotas({"alice": 0, "bob": 4}, **changed))
    assert of(result, 2).segments == ((at_s, at_s + 5),)


def test_exempt_runs_wake_it_where_the_others_are_too_few() -> None:
    """alice may lose one of her two runs at once; carol's is exempt until 55, and only then is there enough for bob."""
    workload = trace(a(1, 0, 500, 1), a(2, 0, 500, 1), a(3, 5, 500, 2, "carol"), a(4, 20, 5, 3, "bob"))
    result = replay(workload, FOUR, with_quotas({"alice": 1, "bob": 3, "carol": 0}, exempt_s=50))
    assert of(result, 4).start_s == 55


def test_jobs_that_run_no_time_start_and_end_at_once() -> None:
    workload = trace(a(1, 0, 0, 4), a(2, 0, 0, 4), a(3, 0, 0, 4), a(4, 7, 0, 1))
    for name in ("fcfs", "easy", "easy-sjbf", "hard-limit", "quota"):
        result = replay(workload, FOUR, resolve(name, workload, FOUR))
        assert segments(result)[1] == ((0, 0),), name
        assert sorted(segments(result)) == ([1, 2, 3, 4])
        assert all(start == end for runs in segments(result).values() for start, end in runs)


def test_what_ends_is_free_in_the_same_second() -> None:
    workload = trace(a(1, 0, 10, 4), a(2, 10, 10, 4))
    assert segments(replay(workload, FOUR, resolve("fcfs", workload, FOUR)))[2] == ((10, 20),)


def test_easy_drawn_out() -> None:
    """Job 1 holds 2 of 4 cores until 40, the time promised to 2; 3 ends by then and passes, 4 would not.

    ::

        1  ====
        2      ====
        3   ==
        4          =====
    """
    workload = trace(a(1, 0, 40, 2), a(2, 10, 40, 4), a(3, 10, 20, 2), a(4, 10, 50, 2))
    result = replay(workload, FOUR, resolve("easy", workload, FOUR))
    assert segments(result) == {1: ((0, 40),), 2: ((40, 80),), 3: ((10, 30),), 4: ((80, 130),)}
    assert of(result, 2).head_delay_s == 0
    assert of(result, 1).head_delay_s is None


def test_shortest_first_chooses_among_those_that_fit() -> None:
    workload = trace(a(1, 0, 40, 2), a(2, 10, 40, 4), a(3, 10, 20, 2), a(4, 10, 5, 2))
    starts = {
        name: replay(workload, FOUR, resolve(name, workload, FOUR)).records for name in ("fcfs", "easy", "easy-sjbf")
    }
    assert [record.start_s for record in starts["fcfs"]] == [0, 40, 80, 80]
    assert [record.start_s for record in starts["easy"]] == [0, 40, 10, 30]
    assert [record.start_s for record in starts["easy-sjbf"]] == [0, 40, 15, 10]


def test_a_head_that_starts_early_is_ahead_of_its_promise() -> None:
    workload = trace(a(1, 0, 10, 4, estimate_s=100), a(2, 5, 10, 4))
    assert of(replay(workload, FOUR, resolve("easy", workload, FOUR)), 2).head_delay_s == -90


def test_jobs_above_a_hard_limit_are_left_out_and_counted() -> None:
    workload = trace(a(1, 0, 10, 3), a(2, 0, 10, 2))
    queue = Queue(QUEUE, hard=HardLimits(max_run_res={"ncpus": Limits({("u", "alice"): 2})}))
    policy = Policy("hard", Settings(BackfillSettings(), QuotaSettings(preempt=False)), queue)
    result = replay(workload, FOUR, policy)
    assert segments(result) == {2: ((0, 10),)}
    assert result.skipped == {"never startable under the policy": 1}


def test_the_record_names_the_vnodes_of_the_last_run() -> None:
    workload = trace(a(1, 0, 10, 1), a(2, 0, 10, 3))
    result = replay(workload, FOUR, resolve("easy", workload, FOUR))
    assert of(result, 1).vnodes == ("n1",)
    assert of(result, 2).vnodes == ("n2", "n1")


def test_vnodes_are_in_order_of_their_numbers() -> None:
    names = [vnode.name for vnode in vnodes_of(Cluster(12, 3))]
    assert names == sorted(names)
    assert len(names) == 12


def test_progress_is_told_now_and_then() -> None:
    messages: list[int] = []
    workload = trace(*(a(number, number, 1, 1) for number in range(1, 1500)))
    replay(workload, FOUR, resolve("easy", workload, FOUR), messages.append)
    assert messages == [1, 1001]


def test_an_empty_workload_has_no_records() -> None:
    workload = trace()
    assert replay(workload, FOUR, resolve("easy", workload, FOUR)).records == []
