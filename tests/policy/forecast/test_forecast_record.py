"""The record of hits and misses corrects what the draws say by what happened, jobs that still wait included."""

from __future__ import annotations

import pytest

from policy.forecast.forecast_record import AGAIN_S, ENOUGH, GRACE_S, KEPT, ForecastRecord, Noted, RecordError

COUNT = 100


def noted(number: int, at_s: float = 0, half_s: float = 100, nine_tenths_s: float = 200) -> Noted:
    return Noted(str(number), at_s, half_s, nine_tenths_s)


def with_waits(waits_s: list[float]) -> ForecastRecord:
    record = ForecastRecord()
    record.note(noted(number) for number in range(len(waits_s)))
    for number, wait_s in enumerate(waits_s):
        record.started(str(number), wait_s)
    return record


def test_too_few_forecasts_correct_nothing() -> None:
    assert with_waits([1000.0] * (ENOUGH - 1)).factors(5000) == (1, 1)


def test_the_factors_are_the_ratios_that_half_and_nine_tenths_stayed_below() -> None:
    half, nine_tenths = with_waits([float(10 * number) for number in range(1, COUNT + 1)]).factors(5000)
    assert half * (100 + GRACE_S) - GRACE_S == pytest.approx(500)
    assert nine_tenths * (200 + GRACE_S) - GRACE_S == pytest.approx(900)


def test_starts_later_than_now_are_not_known_yet() -> None:
    record = with_waits([100.0] * 60 + [9000.0] * 40)
    assert record.factors(1000)[0] == 1
    # Nine tenths would need a start among those that wait: the largest ratio known is taken.
    assert record.factors(1000)[1] == pytest.approx(160 / 260)


def test_a_job_that_still_waits_counts_as_far_as_it_has_waited() -> None:
    record = ForecastRecord()
    record.note(noted(number) for number in range(COUNT))
    for number in range(0, COUNT, 2):
        record.started(str(number), 100)
    # At second 50 none is known; at 150 half of them are, at their 100 s, and the others wait on.
    assert record.factors(50) == (1, 1)
    assert record.factors(150)[0] == 1
    # Of those that had waited 100 s all started then: the others, noted at 60, say nothing of more than 40 s.
    record = ForecastRecord()
    record.note(noted(number) for number in range(60))
    record.note(noted(number, at_s=60) for number in range(60, 120))
    for number in range(60):
        record.started(str(number), 80)
    assert record.factors(100)[0] == pytest.approx((80 + GRACE_S) / (100 + GRACE_S))


def test_a_job_is_noted_again_after_an_hour_only() -> None:
    record = ForecastRecord()
    record.note([noted(1), noted(1, AGAIN_S - 1), noted(1, AGAIN_S)])
    assert len(record) == 2


def test_only_the_last_forecasts_are_kept() -> None:
    record = with_waits([100.0] * (KEPT + 10))
    assert len(record) == KEPT
    assert len(record.to_data()["started"]) == KEPT


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
             {"version": 1, "noted": [["1", True, 1, 1]], "started": {}}, {"version": 1, "noted": [], "started": []}],
)  # fmt: skip
def test_other_data_is_refused(data: object) -> None:
    with pytest.raises(RecordError):
        ForecastRecord.from_data(data)
