"""A forecast's moments, and what it says of itself, on clusters small enough to count by hand."""

from __future__ import annotations

import pytest

from policy import Finished, Ledger, Queue, Settings
from policy.forecast.arrivals_resampled_from_past_days import DAY_S, UsualArrivals
from policy.forecast.forecast import Bounds, Forecast, Forecaster, forecast
from policy.forecast.forecast_hits_and_correction import AGAIN_S, ForecastRecord, Noted
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.jobs_runs_vnodes_queues import CROSSING, UNLIMITED_S, Window
from policy.state.cluster_snapshot import Snapshot
from tests.policy.clusters import cluster, job, queue, run, vnode

NOTHING = RunTimeHistory()


def forecast_of(
    snapshot: Snapshot,
    history: RunTimeHistory = NOTHING,
    bounds: Bounds = Bounds(),  # noqa: B008 - a value
    record: ForecastRecord | None = None,
    ledger: Ledger = Ledger(),  # noqa: B008 - a value
) -> Forecast:
    return forecast(snapshot, ledger, Settings(), history, record=record, bounds=bounds)


def one_behind_one() -> Snapshot:
    return cluster([vnode("v1")], [job("2", select="4")], [run("1", "bob", "v1=4", estimate_s=100)])


def past(user: str, *took_s: float) -> list[Finished]:
    return [Finished("0", user, "", 4, 0, each_s, 100) for each_s in took_s]


def test_without_a_past_every_moment_is_that_of_the_asked_times() -> None:
    found = forecast_of(one_behind_one()).jobs["2"]
    assert (found.half_s, found.nine_tenths_s, found.last_s) == (100, 100, 100)


def test_half_and_nine_in_ten_come_from_the_users_past() -> None:
    # Bob's runs take 20 or 80 s, those of 80 s a third of the times.
    found = forecast_of(one_behind_one(), RunTimeHistory(past("bob", *[80, 20, 20] * 20))).jobs["2"]
    assert (found.half_s, found.nine_tenths_s, found.last_s) == (20, 80, 100)


def test_it_says_where_and_after_whose_end() -> None:
    found = forecast_of(one_behind_one(), RunTimeHistory(past("bob", 20, 30))).jobs["2"]
    assert found.allocation is not None
    assert found.allocation.vnodes == ("v1",)
    assert (found.after, found.after_draws) == ("1", 30)


def test_a_promise_bounds_the_nine_in_ten() -> None:
    assert forecast_of(one_behind_one(), ledger=Ledger(promises={"2": 60})).jobs["2"].nine_tenths_s == 60


def test_a_promise_that_moves_for_a_job_within_quota_bounds_nothing() -> None:
    """carol's job is over her quota and holds a promise; as soon as a run of alice has ended, she is within hers."""
    snapshot = cluster(
        [vnode("v1"), vnode("v2")],
        [job("3", "carol", "2:ncpus=4"), job("4", "alice", "4", estimate_s=300)],
        [run("1", "alice", "v1=4", estimate_s=100), run("2", "bob", "v2=4", estimate_s=150)],
        queues=[queue("[u:alice=4],[u:carol=2]")],
    )
    found = forecast_of(snapshot, ledger=Ledger(promises={"3": 150})).jobs["3"]
    assert (found.half_s, found.nine_tenths_s, found.last_s) == (400, 400, 400)


def test_the_record_corrects_the_waits() -> None:
    record = ForecastRecord()
    for number in range(100):
        at_s = AGAIN_S * (number - 200)
        made = Noted(str(1000 + number), at_s, *next(forecast_of(one_behind_one()).noted())[2:4])
        record.note([made])
        record.started(str(1000 + number), at_s + 240)
    # The draws say 90 s, and 240 s it was: with the minute of grace twice as long.
    found = forecast_of(one_behind_one(), record=record)
    assert found.jobs["2"].half_s == 10 + 240
    assert found.jobs["2"].last_s == 10 + 240
    assert found.factors == (2, 2)


def test_a_held_job_is_named_with_what_it_waits_for() -> None:
    snapshot = cluster([vnode("v1")], [job("2", blocked="held"), job("3")])
    found = forecast_of(snapshot)
    assert (dict(found.unknown), set(found.jobs)) == ({"2": "held"}, {"3"})


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        (Queue("workq", started=False), "queue workq, which is stopped"),
        (Queue("workq", managed=False), "queue workq, which pbsteer does not manage"),
    ],
)
def test_a_job_whose_queue_starts_none_is_named_with_that(queue: Queue, why: str) -> None:
    """Also one that is blocked besides: what blocks it may pass by itself, as for an array at its limit."""
    found = forecast_of(Snapshot.build(10, [vnode("v1")], [queue], [job("2"), job("3", blocked="held")]))
    assert (dict(found.unknown), dict(found.jobs), found.passes) == ({"2": why, "3": why}, {}, 0)


def test_a_job_longer_than_any_prime_time_has_no_start() -> None:
    changes = (0.0, 500.0, 900.0, UNLIMITED_S)
    closed = tuple(Window(*span, "prime time", closed_to=CROSSING) for span in zip(changes, changes[1:]))
    waiting = [job("2", estimate_s=401), job("3", estimate_s=400)]
    found = forecast_of(Snapshot.build(200, [vnode("v1")], [Queue("workq", closed=closed)], waiting))
    assert "no start in the coming days leaves more than 00:06:40" in found.unknown["2"]
    assert found.jobs.keys() == {"3"}


def test_some_jobs_alone_are_forecast_among_all() -> None:
    snapshot = cluster(
        [vnode("v1")], [job("2", select="4", estimate_s=70), job("3", select="4")], [run("1", "bob", "v1=4")]
    )
    wanted = Forecaster(snapshot, Ledger(), Settings(), NOTHING, wanted=["3"])
    while wanted.step():
        pass
    assert {job_id: each.half_s for job_id, each in wanted.result().jobs.items()} == {"3": 170}


def test_a_job_that_never_fits_has_no_moment() -> None:
    found = forecast_of(cluster([vnode("v1")], [job("2", select="9")])).jobs["2"]
    assert (found.half_s, found.nine_tenths_s, found.last_s, found.allocation) == (None, None, None, None)


def test_a_job_behind_a_run_without_walltime_and_past_has_no_moment() -> None:
    endless = run("1", "bob", "v1=4", estimate_s=UNLIMITED_S)
    found = forecast_of(cluster([vnode("v1")], [job("2", select="4")], [endless])).jobs["2"]
    assert (found.half_s, found.last_s) == (None, None)


def test_a_moment_beyond_the_horizon_is_none() -> None:
    found = forecast_of(one_behind_one(), RunTimeHistory(past("bob", *[80, 20, 20] * 20)), Bounds(horizon_s=50))
    assert (found.horizon_s, found.jobs["2"].half_s) == (60, 20)
    assert (found.jobs["2"].nine_tenths_s, found.jobs["2"].last_s) == (None, None)


def test_decisions_used_up_end_all_draws_with_the_shortest_and_it_says_so() -> None:
    # One job after the other, 100 s each: a decision for each.
    row = cluster([vnode("v1")], [job(str(number), select="4") for number in range(2, 7)], [run("1", "bob", "v1=4")])
    whole = forecast_of(row, bounds=Bounds(draws=5))
    part = forecast_of(row, bounds=Bounds(draws=5, passes=whole.passes // 2))
    assert whole.is_whole
    assert whole.jobs["6"].half_s is not None
    assert (part.is_whole, part.draws, part.passes <= whole.passes // 2) == (False, 5, True)
    assert part.horizon_s < part.horizon_wanted_s
    early = {job_id for job_id, each in part.jobs.items() if each.half_s is not None}
    assert {"2"} <= early < {"2", "3", "4", "5", "6"}
    assert all(part.jobs[job_id].half_s == whole.jobs[job_id].half_s for job_id in early)
    assert all(each.half_s is None or each.half_s <= part.horizon_s for each in part.jobs.values())


def test_more_decisions_than_draws_are_needed_for_any_of_them() -> None:
    part = forecast_of(one_behind_one(), bounds=Bounds(draws=5, passes=5))
    assert (part.draws, part.is_whole, part.jobs["2"].half_s) == (0, False, None)


def test_no_decision_at_all_gives_no_moment() -> None:
    part = forecast_of(one_behind_one(), bounds=Bounds(passes=0))
    assert (part.draws, part.jobs["2"].half_s, part.jobs["2"].last_s) == (0, None, None)


def test_each_step_is_one_draw() -> None:
    forecaster = Forecaster(one_behind_one(), Ledger(), Settings(), NOTHING, bounds=Bounds(draws=2))
    steps = [(forecaster.step(), forecaster.result().draws) for _ in range(4)]
    assert steps == [(True, 0), (True, 1), (True, 2), (False, 2)]


def test_nothing_waits_nothing_is_drawn() -> None:
    found = forecast_of(cluster([vnode("v1")], [], [run("1", "bob", "v1=4")]))
    assert (found.is_whole, found.passes, dict(found.jobs)) == (True, 0, {})


def test_usual_arrivals_come_ahead_of_a_job_of_less_priority() -> None:
    snapshot = Snapshot.build(
        DAY_S, [vnode("v1")], cluster([]).queues.values(), [job("2", select="4", not_before_s=DAY_S + 50)]
    )
    usual = UsualArrivals([job("1", select="4", submit_s=40, estimate_s=300)], since_s=0)
    found = forecast(snapshot, Ledger(), Settings(), NOTHING, arrivals=usual)
    assert found.with_arrivals
    assert found.jobs["2"].half_s == DAY_S + 340
    assert (found.jobs["2"].last_s, found.jobs["2"].after) == (DAY_S + 340, "")
