"""Passes that do not come to their end are counted, and it takes good ones, more each time, to be trusted again."""

from __future__ import annotations

from pathlib import Path

from hooks.alerts.pass_alerts import Alerts
from hooks.control.circuit_breaker import CircuitBreaker, begin_pass
from hooks.control.pbs_scheduler.scheduler_switch import Switched
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from hooks.store.state_files import PASSES, State
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, running, server_status
from tests.hooks.stand_in import pbs_ifl


def after(breaker: CircuitBreaker, good: int = 0, bad: int = 0) -> CircuitBreaker:
    """After so many passes that ended, and then so many that did not."""
    for _ in range(good):
        breaker = breaker.begun().ended()
    for _ in range(bad):
        breaker = breaker.opened(0.0) if breaker.is_to_open else breaker.begun()
    return breaker


def test_three_in_a_row_are_too_many_and_two_are_not() -> None:
    assert [after(CircuitBreaker(), bad=count).is_to_open for count in (1, 2, 3)] == [False, False, True]
    assert not after(after(CircuitBreaker(), bad=2), good=1, bad=2).is_to_open


def test_a_good_pass_makes_up_for_two_bad_ones_but_not_for_a_setback() -> None:
    assert after(after(CircuitBreaker(), bad=2), good=1) == CircuitBreaker()
    setback = after(CircuitBreaker(), bad=4)
    assert (
        setback.successes_needed,
        after(setback, good=9).successes_needed,
        after(setback, good=10).successes_needed,
    ) == (10, 1, 0)


def test_each_setback_doubles_what_it_takes() -> None:
    breaker = CircuitBreaker()
    needed = []
    for _ in range(9):
        breaker = after(breaker, bad=4)
        needed.append(breaker.successes_needed)
        breaker = after(breaker, good=breaker.successes_needed)
    assert needed == [10, 20, 40, 80, 160, 320, 640, 640, 640]


def test_a_bad_pass_before_it_is_trusted_again_begins_the_count_anew() -> None:
    breaker = after(after(CircuitBreaker(), bad=4), good=5)
    assert after(breaker, bad=2).successes_needed == 10
    assert after(breaker, bad=9).setbacks == 1


def test_setbacks_are_forgiven_after_a_long_time_without_any() -> None:
    setback = after(CircuitBreaker(), bad=4)
    assert after(setback, good=99).setbacks == 1
    assert after(setback, good=100) == CircuitBreaker()


def test_it_is_read_as_it_was_written_and_nothing_else_disturbs(tmp_path: Path) -> None:
    state = State(tmp_path)
    for text in ("", "[]", '{"unfinished": "many", "good": -1}'):
        (tmp_path / PASSES).write_text(text)
        assert CircuitBreaker.read(state) == CircuitBreaker()
    CircuitBreaker(2, 1, 7, rests=3, rest_began_s=1000).write(state)
    assert CircuitBreaker.read(state) == CircuitBreaker(2, 1, 7, rests=3, rest_began_s=1000)


def test_rests_double_up_to_four_hours_and_end_early_once_the_hook_has_changed() -> None:
    breaker, rests = CircuitBreaker(), []
    for _ in range(7):
        breaker = after(breaker, bad=4) if not breaker.rests else breaker.begun().opened(1000.0)
        rests.append(breaker.rest_s)
    assert rests == [600, 1200, 2400, 4800, 9600, 14400, 14400]
    assert [breaker.is_resting(now_s, 0.0) for now_s in (999.0, 1000.0, 15399.0, 15400.0)] == [False, True, True, False]
    assert not breaker.is_resting(2000.0, changed_s=1500.0)


def test_a_good_pass_ends_a_rest_and_a_long_time_of_them_makes_the_next_one_short_again() -> None:
    rested = after(after(CircuitBreaker(), bad=4), good=1)
    assert not rested.is_resting(0.0, 0.0)
    assert after(rested, bad=4).rest_s == 1200
    assert after(after(rested, good=99), bad=4).rest_s == 600


def test_a_victim_that_is_ending_keeps_no_other_one_held(tmp_path: Path) -> None:
    """PBS refuses the release of a job that is ending, which may take for ever."""
    state = State(tmp_path)
    held = {MARK_KEY: show_marks({None: Mark("9.s", "requeue", 1, 1, held=True)}), "Hold_Types": "s"}
    pbs_ifl.WORLD.update(
        server_status({"1.s": running() | held | {"job_state": "E"}, "2.s": job("H") | held}).to_data()
    )
    pbs_ifl.REFUSALS["1.s"] = "15018 Request invalid for state of job"
    Switched().write(state)
    CircuitBreaker(unfinished=3).write(state)
    sentences: list[str] = []
    assert begin_pass(pbs_ifl, state, Settings(), sentences, Alerts(state)) is None
    assert [call[:2] for call in pbs_ifl.CALLS if call[0] == "release"] == [["release", "1.s"], ["release", "2.s"]]
    assert sentences[1:] == ["job 2.s is held no longer"]
    assert CircuitBreaker.read(state).rest_began_s, "passes rest all the same"
