"""Early passes: what starts one before the next is due, and how much of the time they take."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from hooks.control.early_pass import EarlyPasses, NextPass, PassResult
from hooks.pbs.client.pbs_ifl_client import IflError
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from tests.hooks.control.early_passes_by_fake_clock import (
    MORE,
    PASS_S,
    QUIET,
    SCHEDULE,
    Clock,
    count,
    run_early_passes,
)
from tests.hooks.stand_in import pbs_ifl


def test_where_nothing_changes_no_pass_comes_before_its_time(clock: Clock, config: Path) -> None:
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15))
    assert left_s == 0
    assert waited_s <= 14.6


@pytest.mark.parametrize("after_s", [3.0, 5.2, 9.0])
def test_new_jobs_start_a_pass_at_the_next_look(clock: Clock, config: Path, after_s: float) -> None:
    clock.at[clock.now_s + after_s] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15, look_s=0.5))
    assert after_s <= waited_s <= after_s + 0.5
    assert left_s == pytest.approx(15 - waited_s)


@pytest.mark.parametrize("in_s", [2.3, 7.25, 13.9])
def test_what_the_plan_has_set_for_a_moment_brings_a_pass_at_that_moment(
    clock: Clock, config: Path, in_s: float
) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    begun_s = clock.now_s
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(PASS_S)
    coming = early_passes.wait(PassResult(0.01, 0.01, next_s=begun_s + in_s))
    assert coming is not None
    assert coming.early is not None
    assert clock.now_s == pytest.approx(begun_s + in_s)
    assert coming.early.left_s == pytest.approx(15 - in_s)


@pytest.mark.parametrize("in_s", [14.8, 15.2, 400.0, math.inf])
def test_a_moment_after_the_next_due_pass_is_left_to_later_passes(clock: Clock, config: Path, in_s: float) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    begun_s = clock.now_s
    early_passes.begin_pass(SCHEDULE)
    assert early_passes.wait(PassResult(0.01, 0.01, next_s=begun_s + in_s)) is None
    assert clock.now_s <= begun_s + 14.6


@pytest.mark.parametrize(("cpu_s", "most"), [(0.01, 15), (0.3, 5)])
def test_plans_that_always_name_the_next_moment_bring_few_passes(
    clock: Clock, config: Path, cpu_s: float, most: int
) -> None:
    """One a second at most, and in no more than a tenth of a core's time, also if the clock was set ahead."""
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    passes = 1
    early_passes.begin_pass(SCHEDULE)
    while early_passes.wait(PassResult(cpu_s, cpu_s, next_s=clock.now_s - 1000 * (passes % 2))) is not None:
        passes += 1
        early_passes.begin_pass(SCHEDULE)
    assert most - 2 <= passes <= most


def test_no_moment_of_a_plan_brings_a_pass_where_they_are_switched_off(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    early_passes.begin_pass(ScheduleSettings(interval_s=15, look_s=0))
    assert early_passes.wait(PassResult(0.01, 0.01, next_s=clock.now_s + 3)) is None


def test_what_came_while_the_pass_was_reading_counts_too(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + PASS_S / 2] = count(MORE)
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15))[1] > 0


@pytest.mark.parametrize("took_s", [0.1, 0.3, 1.0])
def test_passes_ahead_of_their_time_read_for_a_tenth_of_it_at_most(clock: Clock, config: Path, took_s: float) -> None:
    clock.at[clock.now_s + took_s] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15), took_s, took_s)
    assert left_s > 0
    assert took_s <= waited_s / 10 + 1e-9


def test_pass_that_started_jobs_is_followed_at_once(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + 9] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15), took_s=10, spent_s=0.05)
    assert waited_s <= 10.5
    assert left_s == pytest.approx(15 - waited_s)


def test_for_some_time_after_starts_what_has_ended_is_seen_at_once(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    early_passes.begin_pass(ScheduleSettings(interval_s=15, look_s=0.5))
    assert early_passes.wait(PassResult(0.01, 0.01, (), has_started=True)) is not None
    early_passes.begin_pass(ScheduleSettings(interval_s=15, look_s=0.5))
    begun_s = clock.now_s
    assert early_passes.wait(PassResult(0.01, 0.01)) is not None, "one more, as nothing was looked at before this one"
    assert clock.now_s - begun_s == pytest.approx(0.1)
    early_passes.begin_pass(ScheduleSettings(interval_s=15, look_s=0.5))
    begun_s = clock.now_s
    clock.at[begun_s + 0.72] = count(MORE)
    assert early_passes.wait(PassResult(0.01, 0.01)) is not None
    assert 0.72 <= clock.now_s - begun_s <= 0.83
    early_passes.begin_pass(ScheduleSettings(interval_s=15, look_s=0.5))
    clock.sleep(3.0)
    begun_s = clock.now_s
    clock.at[begun_s + 0.12] = count(QUIET)
    assert early_passes.wait(PassResult(0.01, 0.01)) is not None
    assert clock.now_s - begun_s == pytest.approx(0.5)


def test_waiting_for_a_busy_server_adds_no_rest(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + 0.8] = count(MORE)
    waited_s, left_s = run_early_passes(
        clock, config, ScheduleSettings(interval_s=15), took_s=0.5, spent_s=0.4, cpu_s=0.01
    )
    assert waited_s <= 0.8 + 0.5
    assert left_s > 0


def test_what_a_pass_took_to_start_jobs_counts_as_rest(clock: Clock, config: Path) -> None:
    waited_s, left_s = run_early_passes(
        clock, config, ScheduleSettings(interval_s=15), took_s=1.0, spent_s=0.1, started=True
    )
    assert waited_s == pytest.approx(1.02)
    assert left_s == pytest.approx(15 - waited_s)


def test_a_pass_that_has_started_jobs_is_followed_whatever_the_server_counts(clock: Clock, config: Path) -> None:
    """As many may have ended by then, and the subjobs that still wait are in no count."""
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15), spent_s=0.01, started=True)
    assert left_s > 0
    assert waited_s <= PASS_S + 0.03


def test_a_scheduler_that_is_being_switched_is_seen_to_after_a_second(clock: Clock, config: Path) -> None:
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15), spent_s=0.01, unsettled=True)
    assert left_s > 0
    assert PASS_S + 1 <= waited_s <= PASS_S + 2


def test_new_reservation_starts_a_pass_at_the_next_look(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + 3] = lambda: pbs_ifl.WORLD.update(reservations={"R1.server": {"reserve_state": "1"}})
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15, look_s=0.5))
    assert left_s > 0
    assert 3 <= waited_s <= 3.5


def test_a_process_that_is_late_makes_the_pass_that_is_due_itself(clock: Clock, config: Path) -> None:
    """PBS runs no second process beside one that is still there, and none in its place before the next interval."""
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    begun_s = clock.now_s
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(11.0)
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(3.8)
    assert early_passes.wait(PassResult(0.1, 0.1, ["1.s"])) == NextPass()
    assert (clock.now_s, clock.alarms) == (begun_s + 15, [29])
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(0.5)
    coming = early_passes.wait(PassResult(0.01, 0.01, has_started=True))
    assert coming is not None
    assert coming.early is not None
    assert not coming.early.tried, "what the pass before tried to start was another interval's"


def test_while_jobs_start_the_process_makes_the_due_passes_itself(clock: Clock, config: Path) -> None:
    """Passes of half a second, all but the last of which start jobs: none comes more than a breath after another."""
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    begun_s, due, gaps_s = clock.now_s, 0, []
    while clock.now_s < begun_s + 100:
        early_passes.begin_pass(SCHEDULE)
        clock.sleep(0.5)
        ended_s = clock.now_s
        coming = early_passes.wait(PassResult(0.02, 0.02, has_started=True))
        assert coming is not None
        due += coming.early is None
        gaps_s.append(clock.now_s - ended_s)
    assert max(gaps_s) <= 0.021
    assert due == len(clock.alarms) == 6
    for _ in range(2):
        early_passes.begin_pass(SCHEDULE)
        coming = early_passes.wait(PassResult(0.02, 0.02))
    assert coming is None
    assert clock.now_s <= begun_s + 105 - 0.4


def test_no_early_pass_tries_a_job_again_that_this_process_has_tried(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    for round_, tried in enumerate((["1.s", "8[3].s"], ["2.s"])):
        early_passes.begin_pass(ScheduleSettings(interval_s=15))
        count(f"Queued:{round_}")()
        coming = early_passes.wait(PassResult(PASS_S, PASS_S, tried))
    assert coming is not None
    assert coming.early is not None
    assert coming.early.tried == {"1.s", "8[3].s", "2.s"}


def test_all_passes_and_looks_of_a_process_have_one_connection(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    for round_ in range(3):
        early_passes.begin_pass(SCHEDULE)
        with early_passes.connect(pbs_ifl):
            count(f"Queued:{round_}")()
        assert early_passes.wait(PassResult(0.01, 0.01)) is not None
    early_passes.close()
    assert [call[0] for call in pbs_ifl.CALLS] == ["connect", "disconnect"]


def test_after_an_error_another_connection_is_opened(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    for _ in range(2):
        with pytest.raises(IflError), early_passes.connect(pbs_ifl):
            raise IflError("the server has ended the connection")
    assert [call[0] for call in pbs_ifl.CALLS] == ["connect", "disconnect"] * 2
