"""Bars: no two share a row at a time, each has its job's cores, and those that were cut say so."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.replay.job_records import Replay
from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.report.gantt_bar_rows import Bar, bars, jobs_to_draw
from sim.report.time_span_given_or_most_preemptions import Span
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran

WHOLE = Span(0, 1e9)


def rows_of(bar: Bar) -> set[int]:
    return {row for low, high in bar.rows for row in range(low, high)}


def drawn(seed: int, jobs: int) -> tuple[Replay, list[Bar]]:
    cluster = Cluster(4, 4)
    workload = generate(jobs, cluster, 3, seed, 1.5)
    result = replay(workload, cluster, resolve("quota", workload, cluster))
    return result, bars(result, WHOLE)


@given(seed=st.integers(0, 1000), jobs=st.integers(1, 40))
def test_bars_never_share_a_row_at_a_time_and_have_their_cores(seed: int, jobs: int) -> None:
    result, found = drawn(seed, jobs)
    for place, bar in enumerate(found):
        assert len(rows_of(bar)) == bar.record.job.cores
        assert rows_of(bar) <= set(range(result.cluster.cores))
        for other in found[:place]:
            if other.end_s > bar.start_s:
                assert not rows_of(other) & rows_of(bar)


@given(seed=st.integers(0, 1000), jobs=st.integers(1, 40))
def test_every_run_is_a_bar_and_every_preemption_a_cut(seed: int, jobs: int) -> None:
    result, found = drawn(seed, jobs)
    runs = [segment for record in result.records for segment in record.segments if segment[0] < segment[1]]
    assert sorted((bar.start_s, bar.end_s) for bar in found) == sorted(runs)
    cuts = [end_s for record in result.records for start_s, end_s in record.segments[:-1] if start_s < end_s]
    assert sorted(bar.end_s for bar in found if bar.cut) == sorted(cuts)


def test_a_run_takes_the_lowest_gap_that_holds_it_whole() -> None:
    replay = a_replay(
        ran(a_job(1, cores=1), (0, 10)),
        ran(a_job(2, cores=1), (0, 100)),
        ran(a_job(3, cores=2), (20, 30)),
    )
    assert [bar.rows for bar in bars(replay, WHOLE)] == [((0, 1),), ((1, 2),), ((2, 4),)]


def test_a_run_without_such_a_gap_takes_several() -> None:
    replay = a_replay(
        ran(a_job(1, cores=1), (0, 10)),
        ran(a_job(2, cores=1), (0, 100)),
        ran(a_job(3, cores=3), (20, 30)),
    )
    assert bars(replay, WHOLE)[-1].rows == ((0, 1), (2, 4))


def test_only_what_runs_in_the_span_is_drawn() -> None:
    replay = a_replay(*(ran(a_job(n), (n * 10, n * 10 + 10)) for n in range(5)))
    assert [bar.record.job.number for bar in bars(replay, Span(15, 30))] == [1, 2]


def test_jobs_that_were_cut_tell_most_then_those_that_ended_at_other_times() -> None:
    same = [ran(a_job(n, n), (n, n + 100)) for n in range(1, 9)]
    moved, cut = a_job(20, 20), a_job(30, 30)
    easy = a_replay(*same, ran(moved, (20, 120)), ran(cut, (30, 130)))
    quota = a_replay(*same, ran(moved, (200, 300)), ran(cut, (30, 50), (60, 160)))
    assert jobs_to_draw([easy, quota], WHOLE, 1) == [30]
    assert jobs_to_draw([easy, quota], WHOLE, 2) == [20, 30]
    assert jobs_to_draw([easy, quota], WHOLE, 3) == [1, 20, 30]
    assert jobs_to_draw([easy, quota], Span(1000, 2000), 3) == []
