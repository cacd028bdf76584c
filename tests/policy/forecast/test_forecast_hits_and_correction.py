"""The record of hits and misses corrects what the draws say by what happened, jobs that still wait included."""

from __future__ import annotations

import pytest

from policy.forecast.forecast_hits_and_correction import (
    AGAIN_S,
    ENOUGH,
    GRACE_S,
    KEPT,
    MOST_AN_HOUR,
    RATE,
    ForecastRecord,
    Noted,
    RecordError,
)

COUNT = 100


def noted(number: int, at_s: float = 0, half_s: float = 100, nine_tenths_s: float = 200) -> Noted:
    return Noted(str(number), at_s, half_s, nine_tenths_s)


def note_in_hours(record: ForecastRecord, count: int, until_s: float = 0) -> list[Noted]:
    """Note so many forecasts, as many an hour as there is room for, the last of them at ``until_s``."""
    hours = (count - 1) // MOST_AN_HOUR
    made = [noted(number, until_s - (hours - number // MOST_AN_HOUR) * AGAIN_S) for number in range(count)]
    for hour in range(hours + 1):
        record.note(made[hour * MOST_AN_HOUR : (hour + 1) * MOST_AN_HOUR])
    return made


def with_waits(waits_s: list[float]) -> ForecastRecord:
    record = ForecastRecord()
    for each, wait_s in zip(note_in_hours(record, len(waits_s)), waits_s):
        record.started(each.job, each.at_s + wait_s)
    return record


def test_too_few_forecasts_correct_nothing() -> None:
    assert with_waits([1000.0] * (ENOUGH - 1)).factors(5000) == (1, 1)


def test_the_factors_are_the_ratios_that_half_and_nine_tenths_stayed_below() -> None:
    half, nine_tenths = with_waits([float(10 * number) for number in range(1, COUNT + 1)]).factors(5000)
    assert half * (100 + GRACE_S) - GRACE_S == pytest.approx(500)
    assert nine_tenths * (200 + GRACE_S) - GRACE_S == pytest.approx(900)


def test_starts_later_than_now_are_not_known_yet() -> None:
    record = ForecastRecord()
    early = note_in_hours(record, 60)
    late = [noted(number) for number in range(60, 100)]
    for each in late:
        record.note([each._replace(at_s=AGAIN_S * (1 + int(each.job)))])
    for each in early:
        record.started(each.job, each.at_s + 100)
    now_s = AGAIN_S * 61
    for each in late:
        record.started(each.job, now_s + 1e6)
    assert record.factors(now_s)[0] == 1
    # Nine tenths would need a start among those that wait: the largest ratio known is taken.
    assert record.factors(now_s)[1] == pytest.approx(160 / 260)


def test_a_job_that_still_waits_counts_as_far_as_it_has_waited() -> None:
    record = ForecastRecord()
    first = note_in_hours(record, 60)
    record.note(noted(number, at_s=AGAIN_S) for number in range(60, 80))
    for each in first:
        record.started(each.job, each.at_s + 80)
    # All that had waited 80 s started then; the others, noted 40 s ago, say nothing of more.
    assert record.factors(AGAIN_S + 40)[0] == pytest.approx((80 + GRACE_S) / (100 + GRACE_S))
    # Of more than that they say something: fewer than half started after 80 s.
    for number in range(80, 180, MOST_AN_HOUR):
        record.note(noted(each, number * AGAIN_S) for each in range(number, number + MOST_AN_HOUR))
    assert record.factors(1e9)[0] == pytest.approx((80 + GRACE_S) / (100 + GRACE_S))


def test_a_job_is_noted_again_after_an_hour_only() -> None:
    record = ForecastRecord()
    for at_s in (0, AGAIN_S - 1, AGAIN_S):
        record.note([noted(1, at_s)])
    assert len(record) == 2


def test_of_many_jobs_some_are_noted_spread_over_the_waits() -> None:
    record = ForecastRecord()
    record.note(noted(number, half_s=number) for number in range(1000))
    waits_s = [wait_s for _, _, wait_s, *_ in record.to_data()["noted"]]
    assert waits_s == [25 + 50 * part for part in range(MOST_AN_HOUR)]
    record.note(noted(number, AGAIN_S / 2) for number in range(2000, 2010))
    assert len(record) == MOST_AN_HOUR


def test_only_the_last_forecasts_are_kept() -> None:
    record = with_waits([100.0] * (KEPT + 10))
    assert len(record) == KEPT
    assert len(record.to_data()["started"]) == KEPT


def test_a_miss_raises_the_share_aimed_at_and_a_hit_lowers_it() -> None:
    record = ForecastRecord()
    record.note([noted(1)._replace(corrected_half_s=50, corrected_nine_tenths_s=150)])
    record.started("1", 100)
    assert record.aims == pytest.approx((0.5 + RATE * 0.5, 0.9 - RATE * 0.1))


def test_a_moment_that_was_not_said_is_neither_hit_nor_miss() -> None:
    assert with_waits([1e9]).aims == (0.5, 0.9)


def test_as_many_hits_as_wanted_leave_the_aims_where_they_are() -> None:
    record = ForecastRecord()
    for number in range(10):
        record.note([noted(number)._replace(corrected_half_s=4.5, corrected_nine_tenths_s=8.5)])
        record.started(str(number), number)
    assert record.aims == pytest.approx((0.5, 0.9))


def test_a_deleted_job_is_neither_hit_nor_miss() -> None:
    record = with_waits([50.0, 150.0, 500.0])
    record.deleted("2")
    assert record.hits() == (2, 1, 2)


def test_the_record_survives_as_data() -> None:
    record = with_waits([float(number) for number in range(COUNT)])
    again = ForecastRecord.from_data(record.to_data())
    assert again.to_data() == record.to_data()
    assert again.factors(50) == record.factors(50)


@pytest.mark.parametrize(
    "data", [None, [], {}, {"version": 2}, {"version": 1, "noted": [["1", 2]], "started": {}},
             {"version": 1, "noted": [["1", True, 1, 1]], "started": {}}, {"version": 1, "noted": [], "started": []},
             {"version": 1, "noted": [], "started": {}}, {"version": 1, "noted": [], "started": {}, "aims": [1]},
             {"version": 1, "noted": [["1", 1, 1, 1, 1, 1, 1]], "started": {}, "aims": [0.5, 0.9]}],
)  # fmt: skip
def test_other_data_is_refused(data: object) -> None:
    with pytest.raises(RecordError):
        ForecastRecord.from_data(data)


def test_a_start_before_the_forecast_is_not_the_one_that_was_forecast() -> None:
    """Another subjob of an array, or an earlier run, which the forecast's moment is not compared with."""
    record = ForecastRecord()
    record.note([noted(1, at_s=1000.5)])
    record.started("1", 400.0)
    assert (record.waiting(), record.hits()) == (["1"], (0, 0, 0))
    record.started("1", 1000.0)
    assert (record.waiting(), record.hits()) == ([], (1, 1, 1)), "PBS tells starts in whole seconds"


def test_an_array_that_has_more_to_start_is_noted_until_its_first_start() -> None:
    record = ForecastRecord()
    record.note([noted(1)])
    record.started("1", 50.0)
    record.note([noted(1, at_s=2 * AGAIN_S)])
    assert len(record) == 1
    data = record.to_data()
    assert ForecastRecord.from_data(data).hits() == (1, 1, 1)
    assert ForecastRecord.from_data({**data, "started": {"1": -5.0}}).hits() == (0, 0, 0)
