"""The use by hour: means over the time covered, bounded, moved on with the hours, read from any file."""

from __future__ import annotations

import json

import pytest

from hooks.record.day_of_activity import Day
from hooks.record.hourly_use import HOUR_S, HOURS, MOST, Entity, HourlyUse

HOUR = 492_345
NOW_S = HOUR * HOUR_S
ALICE: Entity = ("workq", "u", "alice")


def alice(use: HourlyUse, now_s: float = NOW_S) -> list[float | None]:
    return list(use.trend("workq", "u", "alice", now_s))


def test_an_hour_is_the_mean_over_the_seconds_covered_in_it() -> None:
    use = HourlyUse().sampled(NOW_S, 30, {ALICE: 100}).sampled(NOW_S + 90, 90, {ALICE: 20})
    assert alice(use) == [None] * 23 + [(30 * 100 + 90 * 20) / 120]


def test_an_hour_without_a_job_is_zero_and_one_without_a_sample_is_unknown() -> None:
    use = HourlyUse().sampled(NOW_S, 1, {ALICE: 8}).sampled(NOW_S + 2 * HOUR_S, 1, {})
    assert alice(use, NOW_S + 2 * HOUR_S) == [None] * 21 + [8, None, 0]
    assert use.trend("workq", "u", "bob", NOW_S + 2 * HOUR_S)[-3:] == (0, None, 0), "known to have had nothing"


def test_hours_go_as_new_ones_come_and_who_has_none_left_is_dropped() -> None:
    use = HourlyUse().sampled(NOW_S, 1, {ALICE: 8})
    assert alice(use, NOW_S + 23 * HOUR_S)[0] == 8
    assert alice(use, NOW_S + 24 * HOUR_S) == [None] * HOURS
    assert use.sampled(NOW_S + 24 * HOUR_S, 1, {}).amount_s == {}
    assert use.sampled(NOW_S - HOUR_S, 1, {ALICE: 1}) is use, "a clock that goes back adds nothing"


def test_all_queues_together_are_the_sum_of_each() -> None:
    use = HourlyUse().sampled(NOW_S, 10, {ALICE: 8, ("gpu", "u", "alice"): 4, ("gpu", "g", "alice"): 99})
    assert use.trend("", "u", "alice", NOW_S)[-1] == 12


def test_of_thousands_of_users_the_largest_are_kept_and_of_others_nothing_is_claimed() -> None:
    use = HourlyUse()
    many = {("workq", "u", f"user{number}"): number + 1 for number in range(5 * MOST)}
    for minute in range(3 * 60):
        use = use.sampled(NOW_S + 60 * minute, 60, many)
    assert len(use.amount_s) == MOST
    assert use.trend("workq", "u", f"user{5 * MOST - 1}", NOW_S + 2 * HOUR_S)[-1] == 5 * MOST
    assert use.trend("workq", "u", "user0", NOW_S + 2 * HOUR_S) == (None,) * HOURS
    late = ("workq", "u", "late")
    for minute in range(3 * 60, 3 * 60 + 5):
        use = use.sampled(NOW_S + 60 * minute, 60, {**many, late: 10 * MOST})
    assert use.trend(*late, NOW_S + 3 * HOUR_S)[-1] == 10 * MOST, "who begins to use more than others is kept at once"


def test_a_full_day_of_the_most_users_is_a_small_file() -> None:
    use = HourlyUse()
    many = {("a-queue-with-a-name", "u", f"somebody{number:04}"): 10_000 for number in range(MOST)}
    for hour in range(HOURS):
        use = use.sampled(NOW_S + hour * HOUR_S, HOUR_S, many)
    assert len(json.dumps(use.to_data())) < 130_000


def test_each_hour_comes_from_who_covers_it_longer() -> None:
    passes = HourlyUse().sampled(NOW_S, 3000, {ALICE: 10}).sampled(NOW_S + HOUR_S, 20, {ALICE: 11})
    own = HourlyUse().sampled(NOW_S, 5, {ALICE: 90}).sampled(NOW_S + HOUR_S, 60, {ALICE: 91})
    assert alice(own.filled_from(passes), NOW_S + HOUR_S)[-2:] == [10, 91]
    assert alice(HourlyUse().filled_from(passes), NOW_S + HOUR_S)[-2:] == [10, 11]
    assert own.filled_from(HourlyUse()) == own


def test_it_reads_what_it_wrote() -> None:
    use = HourlyUse().sampled(NOW_S, 60, {ALICE: 8, ("workq", "g", 'o"brien\\,x'): 4})
    assert HourlyUse.from_data(json.loads(json.dumps(use.to_data()))) == use
    day = Day().sampled(NOW_S, 8, 16, use={ALICE: 8})
    assert Day.from_data(json.loads(json.dumps(day.to_data()))) == day


def test_a_file_of_an_earlier_version_is_read_on() -> None:
    before = Day().sampled(NOW_S, 8, 16).to_data()
    del before["use"]
    day = Day.from_data(before)
    assert (len(day.slots), day.use) == (1, HourlyUse())


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"newest": "x", "seconds": [0] * HOURS},
        {"newest": HOUR, "seconds": [0] * 3},
        {"newest": HOUR, "seconds": [float("nan")] * HOURS},
        {"newest": HOUR, "seconds": [1] * HOURS, "entities": 3},
        {"newest": HOUR, "seconds": [1] * HOURS, "entities": [[], [1, 2, 3, 4], ["q", "u", "x" * 9999, [1] * HOURS]]},
    ],
)
def test_what_is_no_use_is_left_out(data: object) -> None:
    assert HourlyUse.from_data(data).amount_s == {}
