"""Forecasts held against a replay: what is counted, and that nothing comes from the future."""

from __future__ import annotations

import json

import pytest

from policy.forecast.forecast import Bounds
from sim.forecast.evaluate_forecasts import Held, Judge, Judgement, by_class, evaluate, figures_of
from sim.forecast.forecast_accuracy_report import to_json, to_text
from sim.replay.named_policies import resolve
from sim.replay.replay import replay
from sim.workload.lublin_feitelson import generate
from sim.workload.workload import Cluster, TraceJob, Workload

CLUSTER = Cluster(1, 4)
BOUNDS = Bounds(draws=5)


def workload(*jobs: TraceJob) -> Workload:
    return Workload("story", CLUSTER, jobs)


def wide(number: int, submit_s: float, run_s: float, estimate_s: float = 1000) -> TraceJob:
    return TraceJob(number, submit_s, run_s, estimate_s, 4, "alice", "g")


def judged(of: Workload, policy: str = "easy", moments: int = 10, bounds: Bounds = BOUNDS) -> Judgement:
    return evaluate(of, CLUSTER, resolve(policy, of, CLUSTER), moments, bounds)


def test_each_waiting_job_is_held_against_its_start() -> None:
    # 1 runs until 100; 2 waits from 10, is forecast at 10 and 20, and starts at 100; 3 at 400.
    of = workload(wide(1, 0, 100), wide(2, 10, 300), wide(3, 20, 50))
    assert [(each.wait_s, each.walltime_s, each.last_s) for each in judged(of).held] == [
        (90, 990, 990),
        (80, 980, 980),
        (380, 1980, 1980),
    ]


def test_what_ends_later_is_not_known_before() -> None:
    # The same past, another future: the forecasts made before it are the same.
    past = [wide(1, 0, 100), wide(2, 10, 100), wide(3, 20, 100), wide(4, 250, 100)]
    one = judged(workload(*past, wide(5, 260, 900), wide(6, 2000, 1)), moments=4)
    other = judged(workload(*past, wide(5, 260, 2), wide(6, 2000, 1000)), moments=4)
    assert [each[1:] for each in one.held[:3]] == [each[1:] for each in other.held[:3]]


def test_the_past_of_the_user_is_learned_from_as_runs_end() -> None:
    jobs = [wide(number, 0, 100) for number in range(1, 13)]
    of = workload(*jobs, wide(13, 1050, 100))
    last = judged(of, moments=13).held[-1]
    # At 1050 ten runs of 100 s have ended; the next ends at 1100, the last before it at 1200.
    assert (last.wait_s, last.half_s, last.walltime_s) == (150, 150, 1950)


@pytest.mark.parametrize("policy", ["easy", "checkpoint-sjbf", "quota", "checkpoint-rescue"])
def test_watching_changes_nothing_of_the_replay(policy: str) -> None:
    cluster = Cluster(8, 4)
    of = generate(200, cluster, 5, 1, 1.2)
    resolved = resolve(policy, of, cluster)
    starts: dict[str, float] = {}

    class Watching:
        next_s = 0.0

        def look(self, until_s, snapshot, ledger) -> None:  # type: ignore[no-untyped-def]
            self.next_s = until_s
            judge.look(until_s, snapshot, ledger)

        def happened(self, now_s, submitted, ended) -> None:  # type: ignore[no-untyped-def]
            judge.happened(now_s, submitted, ended)

        def started(self, job_id, now_s) -> None:  # type: ignore[no-untyped-def]
            starts[job_id] = now_s
            judge.started(job_id, now_s)

    judge = Judge(of, cluster, resolved.settings, 50, Bounds(draws=2), with_arrivals=True)
    watched = replay(of, cluster, resolved, observer=Watching())
    alone = replay(of, cluster, resolved)
    assert judge.held
    assert watched.records == alone.records
    assert starts == {str(record.job.number): record.start_s for record in alone.records}


def test_forecasts_cut_short_are_counted() -> None:
    of = workload(wide(1, 0, 100), wide(2, 10, 300), wide(3, 20, 50))
    short = judged(of, bounds=Bounds(draws=5, passes=3))
    assert (short.moments, short.partial) == (3, 2)
    assert "the decisions allowed were too few" in to_text(short)


HELD = [
    Held(100, 100, 150, 400, 300, 50),
    Held(200, 100, 150, 400, 300, None),
    Held(5000, 6000, None, None, None, 5000),
]


def test_the_figures_count_hits_and_take_medians() -> None:
    figures = figures_of(HELD)
    assert figures.forecasts == 3
    assert (figures.within_p50, figures.within_p90) == pytest.approx((2 / 3, 2 / 3))
    assert (figures.median_abs_error_s, figures.walltime_median_abs_error_s) == (100, 150)
    assert figures.history_within_p90 == 0.5


def test_classes_go_by_what_the_wait_was() -> None:
    assert [(until_s / 3600, figures.forecasts) for until_s, figures in by_class(HELD)][:2] == [(1, 2), (4, 1)]


def test_json_has_the_promised_keys() -> None:
    values = json.loads(to_json(Judgement("easy", HELD, 3, 0)))
    assert list(values) == [
        "policy", "forecasts", "within_p50", "within_p90", "median_abs_error_s", "walltime_median_abs_error_s",
        "history_within_p90",
    ]  # fmt: skip
    assert json.loads(to_json(Judgement("easy", [], 3, 0)))["within_p50"] is None
