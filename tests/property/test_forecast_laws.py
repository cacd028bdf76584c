"""Forecasts: never before now, each moment after the one before it, the same by the same seed, and without a trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from policy import Finished, Ledger, Settings
from policy.forecast.forecast import Bounds, Forecast, forecast
from policy.forecast.forecast_hits_and_correction import ForecastRecord, Noted
from policy.forecast.run_time_history import RunTimeHistory
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from tests.property.strategies.cluster_strategies import NOW_S, USERS, Parts, clusters, contended_clusters
from tests.property.strategies.settings_strategies import all_settings

BOUNDS = Bounds(draws=5, horizon_s=5000, passes=3000)


@st.composite
def pasts(draw: st.DrawFn) -> list[Finished]:
    """Runs that ended: of every user, short and long ones."""
    shares = draw(st.lists(st.tuples(st.sampled_from(USERS), st.integers(0, 100)), max_size=12))
    return [Finished(str(number), user, "", 1, 0, share, 100) for number, (user, share) in enumerate(shares)]


@st.composite
def records(draw: st.DrawFn) -> ForecastRecord:
    """A record of jobs that started sooner or later than said, or wait."""
    record = ForecastRecord()
    for number in range(60):
        record.note([Noted(str(number), 0, 50, 80)])
        if draw(st.booleans()):
            record.started(str(number), draw(st.integers(0, NOW_S)))
    return record


situations = st.tuples(st.one_of(clusters(), clusters(plain=True), contended_clusters()), all_settings(), pasts())
Situation = tuple[Parts, Settings, list[Finished]]


def said(situation: Situation, bounds: Bounds = BOUNDS, record: ForecastRecord | None = None) -> Forecast:
    parts, settings, past = situation
    return forecast(parts.snapshot(), Ledger(), settings, RunTimeHistory(past), record=record, bounds=bounds)


@given(situations, records())
def test_no_moment_is_before_now_or_beyond_the_horizon(situation: Situation, record: ForecastRecord) -> None:
    found = said(situation, record=record)
    for job in found.jobs.values():
        for at_s in (job.half_s, job.nine_tenths_s, job.last_s):
            assert at_s is None or NOW_S <= at_s <= found.horizon_s


@given(situations, records())
def test_half_comes_before_nine_tenths_and_these_before_the_last(situation: Situation, record: ForecastRecord) -> None:
    for job in said(situation, record=record).jobs.values():
        moments_s = [UNLIMITED_S if at_s is None else at_s for at_s in (job.half_s, job.nine_tenths_s, job.last_s)]
        assert moments_s == sorted(moments_s)


@given(situations)
def test_the_same_values_give_the_same_forecast_whatever_the_order_of_jobs_and_runs(situation: Situation) -> None:
    parts, settings, past = situation
    turned = Parts(
        parts.vnodes, parts.queues, parts.jobs[::-1], parts.runs[::-1], parts.time_s, parts.server, parts.readings
    )
    assert said(situation) == said((turned, settings, past))


@given(situations)
def test_the_snapshot_is_left_as_it_was(situation: Situation) -> None:
    parts, settings, past = situation
    snapshot = parts.snapshot()
    forecast(snapshot, Ledger(), settings, RunTimeHistory(past), bounds=BOUNDS)
    assert snapshot == parts.snapshot()


@given(situations, st.integers(0, 60))
def test_no_more_decisions_are_taken_than_allowed(situation: Situation, passes: int) -> None:
    found = said(situation, BOUNDS._replace(passes=passes))
    assert found.passes <= passes


@given(situations, st.integers(0, 60))
def test_a_forecast_cut_short_says_of_early_starts_what_the_whole_one_says(situation: Situation, passes: int) -> None:
    part, whole = said(situation, BOUNDS._replace(passes=passes)), said(situation)
    for job_id, each in part.jobs.items():
        if part.draws == part.draws_wanted and each.drawn_half_s is not None:
            assert each.drawn_half_s == whole.jobs[job_id].drawn_half_s


@given(situations)
def test_each_waiting_job_is_in_the_forecast_once(situation: Situation) -> None:
    found = said(situation)
    assert sorted([*found.jobs, *found.unknown]) == sorted(job.id for job in situation[0].jobs)
