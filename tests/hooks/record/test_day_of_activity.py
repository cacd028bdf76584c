"""The last day's activity: bounded, weighted by time, read from any file without an error."""

from __future__ import annotations

import json

import pytest

from hooks.record.day_of_activity import SLOT_S, SLOTS, Day, Events
from hooks.store.state_files import DAY
from sim.demo.demo_cluster_with_hooks import DemoCluster

BEGIN_S = 1_772_442_000.0


def test_means_are_in_time_and_events_are_sums() -> None:
    day = Day().sampled(BEGIN_S, 100, 100)
    day = day.sampled(BEGIN_S + 100, 40, 100, Events(started=2, waited_s=60))
    day = day.sampled(BEGIN_S + 300, 10, 100, Events(started=1, preempted=1, failed=3, waited_s=30))
    (slot,) = day.slots
    assert slot.seconds == pytest.approx(301)
    assert slot.used == pytest.approx((1 * 100 + 100 * 40 + 200 * 10) / 301)
    assert (slot.started, slot.preempted, slot.failed, slot.waited_s) == (3, 1, 3, 90)


def test_a_long_silence_counts_for_a_second_only() -> None:
    day = Day().sampled(BEGIN_S, 100, 100).sampled(BEGIN_S + 599, 0, 100)
    assert day.slots[-1].seconds == pytest.approx(2)


def test_it_keeps_a_day_and_no_more_and_ignores_a_clock_that_goes_back_a_little() -> None:
    day = Day()
    for number in range(3 * SLOTS):
        day = day.sampled(BEGIN_S + number * SLOT_S, 50, 100)
    assert len(day.slots) == SLOTS
    assert len(json.dumps(day.to_data())) < 20_000
    assert day.sampled(day.last_s - 300, 1, 1) is day


@pytest.mark.parametrize("ahead_s", [7200, 400 * 86400])
def test_after_a_clock_that_was_far_ahead_it_goes_on(ahead_s: int) -> None:
    alice = ("workq", "u", "alice")
    day = Day().sampled(BEGIN_S, 10, 100, use={alice: 10}).sampled(BEGIN_S + ahead_s, 20, 100, use={alice: 20})
    back = day.sampled(BEGIN_S + SLOT_S, 50, 100, use={alice: 50}).sampled(BEGIN_S + SLOT_S + 60, 50, 100, use={})
    assert back.slots[-1].number == (BEGIN_S + SLOT_S) // SLOT_S
    assert back.last_s == BEGIN_S + SLOT_S + 60
    assert back.slots[-1].seconds == pytest.approx(61)
    trend = back.use.trend(*alice, BEGIN_S + SLOT_S + 60)
    assert trend[-1] is not None
    assert all(amount is None or amount <= 50 for amount in trend)


def test_it_reads_what_it_wrote() -> None:
    day = Day().sampled(BEGIN_S, 7, 9, Events(1, 2, 3, 4, 5.0), running=6)
    assert Day.from_data(json.loads(json.dumps(day.to_data()))) == day


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        {"version": 2, "last_s": 1, "slots": []},
        {"version": 1, "last_s": "now", "slots": []},
        {"version": 1, "last_s": float("nan"), "slots": []},
        {"version": 1, "last_s": BEGIN_S, "slots": None, "running": "x"},
        {"version": 1, "last_s": BEGIN_S, "slots": [[1], "x", None, [BEGIN_S // SLOT_S] * 8, [True] * 9, [-1] * 9]},
    ],
)
def test_what_is_no_day_is_an_empty_one(data: object) -> None:
    assert Day.from_data(data).slots == ()  # type: ignore[arg-type]


def test_slots_of_another_day_are_left_out() -> None:
    data = {"version": 1, "last_s": BEGIN_S, "slots": [[n, 1, 1, 1, 0, 0, 0, 0, 0] for n in (5, BEGIN_S // SLOT_S)]}
    assert [slot.number for slot in Day.from_data(data).slots] == [BEGIN_S // SLOT_S]


def test_the_longer_of_two_slots_is_taken() -> None:
    passes = Day().sampled(BEGIN_S, 10, 100).sampled(BEGIN_S + 200, 10, 100)
    own = Day().sampled(BEGIN_S + 190, 90, 100).sampled(BEGIN_S + SLOT_S, 90, 100)
    filled = own.filled_from(passes)
    assert [slot.used for slot in filled.slots] == [10, 90]


def test_passes_write_it_for_root_alone_and_count_what_they_did() -> None:
    cluster = DemoCluster(vnodes=16)
    for _ in range(4):
        cluster.step()
    path = cluster.state_folder / DAY
    day = Day.from_data(json.loads(path.read_text()))
    mode = path.stat().st_mode & 0o777
    passes = cluster.journal(4)
    cluster.close()
    assert mode == 0o600
    assert sum(slot.started for slot in day.slots) == sum(len(entry["started"]) for entry in passes) > 0
    assert sum(slot.preempted for slot in day.slots) == sum(len(entry["preempted"]) for entry in passes)
    assert 0 < day.slots[-1].used <= day.slots[-1].total <= 16 * 32


def test_a_pass_goes_on_where_the_file_cannot_be_written() -> None:
    cluster = DemoCluster(vnodes=16)
    cluster.step()
    path = cluster.state_folder / DAY
    path.unlink()
    path.mkdir()
    (path / "full").write_text("")
    cluster.step()
    assert len(cluster.journal(2)) == 2
    cluster.close()
