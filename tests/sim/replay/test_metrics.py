"""Figures computed by hand, and the laws that every figure keeps.

The story, four cores, in hours of 3,600 s; `a` is preempted at 2 and repeats its first two hours:

    hour     0   1   2   3   4   5   6
    a (2c)   ########        ############     submit 0, run 3 h
    b (4c)           ########                 submit 2, run 2 h
    c (1c)   ####                             submit 0, run 1 h
    d (1c)                   ##               submit 2.5 h, run 0: starts and ends at 4
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.replay.job_records import JobRecord, Replay
from sim.replay.metrics import bounded_slowdown, busy_cores, idle_ratio, jain_index, measure, wait_s
from sim.traces.read_swf import read_swf
from sim.workload.workload import Cluster
from tests.sim.easy_by_counting import count
from tests.sim.small_jobs_and_replays import KTH, a_job, a_replay, needs, ran

HOUR_S = 3600


def at(hours: float) -> int:
    return int(hours * HOUR_S)


@pytest.fixture
def story() -> Replay:
    return Replay(
        policy="checkpoint",
        cluster=Cluster(2, 2),
        records=(
            ran(a_job(1, 0, at(3), cores=2), (0, at(2)), (at(4), at(7))),
            ran(a_job(2, at(2), at(2), cores=4), (at(2), at(4)), head_delay_s=-60),
            ran(a_job(3, 0, at(1), cores=1), (0, at(1)), head_delay_s=30),
            ran(a_job(4, at(2.5), 0, cores=1), (at(4), at(4))),
        ),
        skipped={"not 18 fields": 2, "too large": 1},
        cpu_s=0.25,
        checkpoint_core_s=240,
        lost_core_s=at(4),
    )


def test_the_storys_figures(story: Replay) -> None:
    metrics = measure(story)
    assert metrics.policy == "checkpoint"
    assert (metrics.jobs, metrics.skipped) == (4, 3)
    # Waits: a 7 - 3 = 4 h, b and c none, d 1.5 h.
    assert metrics.mean_wait_s == at(5.5) / 4
    # The nearest rank of 95 % of four is the fourth.
    assert metrics.p95_wait_s == at(4)
    # a 7 / 3, b and c 1, d 1.5 h / 10 s = 540.
    assert metrics.mean_bounded_slowdown == pytest.approx((7 / 3 + 1 + 1 + 540) / 4)
    # a 6 core-hours, b 8, c 1, d none, of 4 cores x 7 h; the two hours that a repeats are not its own work.
    assert metrics.utilization == pytest.approx(15 / 28)
    assert metrics.makespan_s == at(7)
    # Samples at 0, 1 and 2 h, the last submit being at 2.5 h: busy 3, 2 (c has just ended), 4 (b has a's cores).
    assert metrics.idle_ratio == pytest.approx((1 + 2 + 0) / 12)
    assert (metrics.preempted_jobs, metrics.preemptions) == (1, 1)
    assert (metrics.checkpoint_core_s, metrics.lost_core_s) == (240, at(4))
    assert metrics.max_head_delay_s == 30
    assert (metrics.cpu_s, metrics.jobs_per_cpu_s) == (0.25, 16)


def test_the_worst_and_the_means_by_area_and_user(story: Replay) -> None:
    metrics = measure(story)
    assert (metrics.measured_jobs, metrics.p99_wait_s, metrics.max_wait_s) == (4, at(4), at(4))
    # Only a and d waited: a 4 h with 6 core-hours of 15, d with none.
    assert metrics.area_weighted_wait_s == pytest.approx(at(4) * 6 / 15)
    assert (metrics.p99_bounded_slowdown, metrics.max_bounded_slowdown) == (540, 540)
    assert metrics.users == 1
    assert metrics.jain_index == pytest.approx(1)


def test_jains_index_is_one_among_equals_and_a_share_if_one_has_all() -> None:
    assert jain_index([3, 3, 3]) == 1
    assert jain_index([8, 0, 0, 0]) == 0.25
    assert jain_index([1, 2, 3]) == pytest.approx(36 / (3 * 14))


def test_users_are_compared_by_the_means_of_their_jobs() -> None:
    jobs = (a_job(1, user="a"), a_job(2, user="a"), a_job(3, user="b"))
    replay = a_replay(*(ran(job, (start, start + 100)) for job, start in zip(jobs, (0, 400, 100))))
    # a's mean slowdown is (1 + 5) / 2, b's 2.
    assert measure(replay).jain_index == pytest.approx(25 / (2 * 13))


def test_only_measured_jobs_count_for_waits_but_all_for_the_machine(story: Replay) -> None:
    all_jobs, two = measure(story), measure(story, {1, 2})
    assert (two.jobs, two.measured_jobs, two.mean_wait_s, two.max_bounded_slowdown) == (4, 2, at(2), 7 / 3)
    for name in ("utilization", "idle_ratio", "makespan_s", "preemptions", "max_head_delay_s", "lost_core_s"):
        assert getattr(two, name) == getattr(all_jobs, name)


def test_a_replay_of_which_nothing_is_measured_has_no_figures(story: Replay) -> None:
    with pytest.raises(ValueError, match="none of the jobs that are measured ran"):
        measure(story, {99})


def test_a_slowdown_is_bounded_by_ten_seconds_and_by_one() -> None:
    assert bounded_slowdown(ran(a_job(run_s=2), (38, 40))) == 4
    assert bounded_slowdown(ran(a_job(run_s=2), (0, 2))) == 1
    assert bounded_slowdown(ran(a_job(run_s=20), (20, 40))) == 2


def test_time_lost_to_a_preemption_is_waiting() -> None:
    assert wait_s(ran(a_job(submit_s=5, run_s=10), (5, 9), (20, 30))) == 15


@pytest.mark.parametrize(("jobs", "rank"), [(1, 1), (19, 19), (20, 19), (21, 20), (100, 95), (101, 96)])
def test_the_95th_percentile_is_the_nearest_rank(jobs: int, rank: int) -> None:
    replay = a_replay(*(ran(a_job(number, run_s=0), (number, number)) for number in range(1, jobs + 1)))
    assert measure(replay).p95_wait_s == rank


def test_a_head_that_started_early_has_a_delay_below_zero_and_no_promise_has_none() -> None:
    assert measure(a_replay(ran(a_job(), (0, 100), head_delay_s=-5))).max_head_delay_s == -5
    assert measure(a_replay(ran(a_job(), (0, 100)))).max_head_delay_s is None


def test_a_run_is_busy_at_its_start_and_idle_at_its_end() -> None:
    records = [ran(a_job(cores=3), (10, 20))]
    assert busy_cores(records, 0, 5, 6) == [0, 0, 3, 3, 0, 0]
    assert busy_cores(records, 0, 10, 2) == [0, 3]
    assert busy_cores([ran(a_job(cores=3), (1, 4))], 0, 5, 2) == [0, 0]


def test_one_job_alone_leaves_the_rest_idle() -> None:
    assert idle_ratio([ran(a_job(cores=3), (0, 100))], 4) == 0.25


def test_a_replay_in_no_time_has_no_utilization_to_divide_by() -> None:
    metrics = measure(replace(a_replay(ran(a_job(run_s=0), (0, 0))), cpu_s=0.0))
    assert (metrics.makespan_s, metrics.utilization, metrics.jobs_per_cpu_s) == (0, 0, None)


def test_a_replay_without_jobs_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match="policy easy: a replay without jobs"):
        measure(a_replay())


def test_a_job_that_never_ran_cannot_be_measured() -> None:
    with pytest.raises(ValueError, match="job 9 never ran"):
        measure(a_replay(ran(a_job(1), (0, 100)), JobRecord(a_job(9), (), (), 0, None)))


# A year of KTH's jobs under the plain rules: programs that share nothing with this one gave these figures.


@needs(KTH)
@pytest.mark.parametrize(
    ("policy", "mean_wait_s", "slowdown"),
    [("fcfs", 218_832.1, 4294.50), ("easy", 6351.5, 86.37), ("easy-sjbf", 5623.4, 66.40)],
)
def test_kth_has_the_figures_of_other_programs(policy: str, mean_wait_s: float, slowdown: float) -> None:
    metrics = measure(a_replay(*count(read_swf(KTH), 100, policy), nodes=100))
    assert metrics.mean_wait_s == pytest.approx(mean_wait_s, abs=0.05)
    assert metrics.mean_bounded_slowdown == pytest.approx(slowdown, abs=0.005)


# Laws, on any jobs run one after the other on some of 8 cores: nothing is ever oversubscribed.


@st.composite
def replays(draw: st.DrawFn) -> Replay:
    records, now_s = [], 0
    for number in range(1, draw(st.integers(1, 12)) + 1):
        submit_s = draw(st.integers(0, now_s)) if draw(st.booleans()) else now_s
        segments = []
        for _ in range(draw(st.integers(1, 3))):
            start_s = now_s + draw(st.integers(0, 20_000))
            now_s = start_s + draw(st.integers(0, 20_000))
            segments.append((start_s, now_s))
        run_s = segments[-1][1] - segments[-1][0]
        records.append(ran(a_job(number, submit_s, run_s, cores=draw(st.integers(1, 8))), *segments))
    return a_replay(*records, nodes=8)


@given(replays())
def test_ratios_are_between_nothing_and_all(replay: Replay) -> None:
    metrics = measure(replay)
    assert 0 <= metrics.utilization <= 1
    assert 0 <= metrics.idle_ratio <= 1


@given(replays())
def test_no_wait_is_negative_and_no_slowdown_below_one(replay: Replay) -> None:
    metrics = measure(replay)
    assert all(wait_s(record) >= 0 for record in replay.records)
    assert metrics.mean_bounded_slowdown >= 1


@given(replays(), st.randoms())
def test_the_order_of_the_records_does_not_matter(replay: Replay, random: object) -> None:
    shuffled = list(replay.records)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = measure(replay), measure(replace(replay, records=shuffled))
    assert first.idle_ratio == second.idle_ratio
    assert first.p95_wait_s == second.p95_wait_s
    assert first.mean_bounded_slowdown == pytest.approx(second.mean_bounded_slowdown)


@given(replays(), st.integers(0, 10**9))
def test_nothing_changes_when_everything_happens_later(replay: Replay, later_s: int) -> None:
    moved = [
        record._replace(
            job=replace(record.job, submit_s=record.job.submit_s + later_s),
            segments=tuple((start + later_s, end + later_s) for start, end in record.segments),
        )
        for record in replay.records
    ]
    assert measure(replace(replay, records=moved)) == measure(replay)


@given(replays())
def test_the_idle_ratio_is_what_looking_each_hour_shows(replay: Replay) -> None:
    first_s = min(record.job.submit_s for record in replay.records)
    last_s = max(record.job.submit_s for record in replay.records)
    idle, samples = Fraction(0), 0
    for now_s in range(int(first_s), int(last_s) + 1, HOUR_S):
        busy = sum(r.job.cores for r in replay.records if any(start <= now_s < end for start, end in r.segments))
        idle += Fraction(8 - busy, 8)
        samples += 1
    assert math.isclose(measure(replay).idle_ratio, idle / samples, abs_tol=1e-12)
