"""What a campaign tries follows from its seed, and what it says follows from its trials."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hooks.deploy.bundle_hook import EVENTS, build
from tests.faults.build_injector_into_hook import Hit, Orders, PassMark, build_in
from tests.faults.campaign_on_testbed import LEAST_OF_A_KIND, Outcome, Trial, draw_schedule, is_over, merge, show_table
from tests.faults.kinds.all_kinds import KINDS
from tests.faults.kinds.killed_or_cut_off_daemons import count_killed

SURVIVED = Trial(1, "clock set", "survived", "by -3600 s", 2.0)
MISSED = SURVIVED._replace(number=2, outcome="missed")
LOST = SURVIVED._replace(number=3, outcome="lost", words="by +1 s; a job is gone")


def test_the_long_form_has_every_kind_often_enough_and_as_many_as_asked_for() -> None:
    schedule = draw_schedule(1000, "1")
    assert len(schedule) == 1000
    assert set(schedule) == set(KINDS)
    assert min(Counter(schedule).values()) >= LEAST_OF_A_KIND


@pytest.mark.parametrize("faults", [len(KINDS), 60, 1000])
def test_a_schedule_follows_from_its_seed_and_has_every_kind(faults: int) -> None:
    assert draw_schedule(faults, "x") == draw_schedule(faults, "x") != draw_schedule(faults, "y")
    assert len(draw_schedule(faults, "x")) == faults
    assert set(draw_schedule(faults, "x")) == set(KINDS)


@pytest.mark.parametrize(
    ("trials", "losses", "good"),
    [
        ([SURVIVED], [], True),
        ([SURVIVED, MISSED], [], True),
        ([MISSED], [], False),
        ([SURVIVED, LOST], [], False),
        ([SURVIVED], ["1.s has not ended"], False),
    ],
)
def test_a_campaign_is_good_only_where_faults_hit_and_nothing_was_lost(
    trials: list[Trial], losses: list[str], good: bool
) -> None:
    assert Outcome(trials, losses, 1, 0).is_good is good


def test_what_testbeds_tried_side_by_side_is_one_campaign() -> None:
    merged = merge([Outcome([SURVIVED, LOST], [], 10, 2, 1, 3), Outcome([MISSED], ["1.s has not ended"], 5, 4, 0, 1)])
    assert merged == Outcome([SURVIVED, MISSED, LOST], ["1.s has not ended"], 15, 6, 1, 4)


@pytest.mark.parametrize(
    ("seconds", "trials", "over"),
    [
        (119.0, [SURVIVED, LOST], False),
        (121.0, [SURVIVED, LOST], True),
        (121.0, [SURVIVED, MISSED], False),
        (239.0, [SURVIVED, MISSED], False),
        (241.0, [SURVIVED, MISSED], True),
    ],
)
def test_a_campaign_on_a_slow_machine_goes_on_until_enough_faults_have_hit(
    seconds: float, trials: list[Trial], over: bool
) -> None:
    assert is_over(seconds, 2.0, trials, least=2) is over


def test_the_table_counts_missed_faults_apart() -> None:
    rows = show_table(Outcome([SURVIVED, MISSED, LOST], [], 1, 0)).splitlines()
    assert rows[2:] == ["| clock set | 2 | 1 | 1 | 1 | 2.0 s |", "| **all** | 2 | 1 | 1 | 1 | 2.0 s |"]


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_with_the_injector_in_it_is_the_hook_and_nothing_less(event: str, tmp_path: Path) -> None:
    text = build(event)
    head, call, tail = text.partition("_refusal = _handle(pbs)\n")
    harmed = build_in(text, event, tmp_path)
    assert call
    assert harmed.startswith(head)
    assert harmed.endswith(tail)
    compile(harmed, event, "exec")


def test_passes_are_read_on_as_they_are_noted(tmp_path: Path) -> None:
    orders = Orders(tmp_path)
    log = tmp_path / "periodic.log"
    log.write_text("begin 7 1.0\nbegin 9 2.0\nend 9 2.5 60 0\nbegin 7 3.0\n")
    assert [mark.end_s for mark in orders.read_passes()] == [None, 2.5, None]
    with log.open("a") as notes:
        notes.write("end 7 3.5 61 0\nbegin 8 4")
    assert [(mark.pid, mark.end_s, mark.steps) for mark in orders.read_passes()] == [
        (7, None, 0),
        (9, 2.5, 60),
        (7, 3.5, 61),
    ]


@pytest.mark.parametrize(
    ("ends", "killed"),
    [
        ([99.9, None], 1),
        ([99.9, None, None], 2),
        ([99.9, None, None, None], 3),
        ([99.9, None, None, None, 103.5, None], 3),
    ],
)
def test_a_pass_that_ended_just_before_the_first_that_was_killed_is_none_of_them(
    ends: list[float | None], killed: int
) -> None:
    # The first begins 0.7 s before the hit: passes are due each second, and on a busy machine late.
    passes = [PassMark(10 + at, 99.4 + at * 0.6, end_s, 70, 0) for at, end_s in enumerate(ends)]
    assert count_killed(passes, Hit(11, 11, "pbs_statvnode", 1, 100.1)) == killed


def test_of_two_passes_with_one_process_number_the_one_that_was_hit_counts() -> None:
    passes = [PassMark(7, 10.0, None, 70, 0), PassMark(8, 11.0, 11.5, 70, 0), PassMark(7, 100.0, None, 70, 0)]
    assert count_killed(passes, Hit(7, 7, "pbs_statvnode", 1, 100.1)) == 1
