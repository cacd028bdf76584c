"""An early pass: what makes one come, and what keeps it from coming."""

from __future__ import annotations

import math
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from hooks.control import early_pass as watched
from hooks.control.early_pass import EarlyPasses, NextPass, PassResult
from hooks.control.pass_guard import PassOutcome
from hooks.deploy.hook_events_alarms_and_order import attributes_of
from hooks.entries import periodic
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.stand_in import pbs_ifl

PASS_S = 0.2
"""What each pass takes here."""

SCHEDULE = ScheduleSettings(interval_s=15)

QUIET, MORE = "Queued:0 Running:3", "Queued:1 Running:3"


class Clock:
    """Time that passes only during a sleep; ``at`` says what happens when. PBS has set an alarm, and ``alarms`` holds
    what it was set to afterwards."""

    ITIMER_REAL = signal.ITIMER_REAL

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.at: dict[float, Callable[[], None]] = {}
        self.alarm_s = 29.0
        self.alarms: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return self.now_s

    def getitimer(self, which: int) -> tuple[float, float]:
        assert which == signal.ITIMER_REAL
        return self.alarm_s, 0.0

    def setitimer(self, which: int, seconds: float) -> None:
        assert which == signal.ITIMER_REAL
        self.alarms.append(seconds)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for due_s in [due_s for due_s in self.at if due_s <= self.now_s]:
            self.at.pop(due_s)()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(watched, "time", made)
    monkeypatch.setattr(watched, "_read_age_s", lambda: 0.0)
    monkeypatch.setattr(watched, "signal", made)
    monkeypatch.setattr(pbs_ifl, "_pbs_ifl", None, raising=False)
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    pbs_ifl.WORLD.update(server={"name": "server", "state_count": QUIET}, reservations={})
    yield made


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for suffix in (".HK", ".PY", ".CF"):
        (tmp_path / f"pbsteer_periodic{suffix}").write_text("as it was")
    return tmp_path / "pbsteer_periodic.CF"


def count(text: str) -> Callable[[], None]:
    """From now on the server counts this."""
    return lambda: pbs_ifl.WORLD["server"].update(state_count=text)


def run_early_passes(
    clock: Clock,
    config: Path,
    schedule: ScheduleSettings,
    took_s: float = PASS_S,
    spent_s: float | None = None,
    cpu_s: float | None = None,
    *,
    started: bool = False,
    unsettled: bool = False,
) -> tuple[float, float]:
    """After a pass of so many seconds, ``spent_s`` of them reading and deciding, with ``cpu_s`` of
    processor time, as many where None: when another may come, counted from when this one began, and the seconds it may
    take; 0 where none may."""
    begun_s = clock.now_s
    early_passes = EarlyPasses(pbs_ifl, str(config))
    early_passes.begin_pass(schedule)
    clock.sleep(took_s)
    spent_s = PASS_S if spent_s is None else spent_s
    coming = early_passes.wait(PassResult(spent_s, spent_s if cpu_s is None else cpu_s, (), started, unsettled))
    return clock.now_s - begun_s, coming.early.left_s if coming is not None and coming.early is not None else 0.0


def test_where_nothing_changes_no_pass_comes_before_its_time(clock: Clock, config: Path) -> None:
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15))
    assert left_s == 0
    assert waited_s <= 14.6


@pytest.mark.parametrize("after_s", [3.0, 5.2, 9.0])
def test_jobs_that_come_bring_a_pass_within_a_look(clock: Clock, config: Path, after_s: float) -> None:
    clock.at[clock.now_s + after_s] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15, look_s=0.5))
    assert after_s <= waited_s <= after_s + 0.5
    assert left_s == pytest.approx(15 - waited_s)


@pytest.mark.parametrize("in_s", [2.3, 7.25, 13.9])
def test_what_the_plan_has_set_for_a_moment_brings_a_pass_at_that_moment(
    clock: Clock, config: Path, in_s: float
) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config))
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
    early_passes = EarlyPasses(pbs_ifl, str(config))
    begun_s = clock.now_s
    early_passes.begin_pass(SCHEDULE)
    assert early_passes.wait(PassResult(0.01, 0.01, next_s=begun_s + in_s)) is None
    assert clock.now_s <= begun_s + 14.6


@pytest.mark.parametrize(("cpu_s", "most"), [(0.01, 15), (0.3, 5)])
def test_plans_that_always_name_the_next_moment_bring_few_passes(
    clock: Clock, config: Path, cpu_s: float, most: int
) -> None:
    """One a second at most, and in no more than a tenth of a core's time, also if the clock was set ahead."""
    early_passes = EarlyPasses(pbs_ifl, str(config))
    passes = 1
    early_passes.begin_pass(SCHEDULE)
    while early_passes.wait(PassResult(cpu_s, cpu_s, next_s=clock.now_s - 1000 * (passes % 2))) is not None:
        passes += 1
        early_passes.begin_pass(SCHEDULE)
    assert most - 2 <= passes <= most


def test_no_moment_of_a_plan_brings_a_pass_where_they_are_switched_off(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config))
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


def test_a_pass_that_was_busy_starting_jobs_is_followed_at_once(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + 9] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15), took_s=10, spent_s=0.05)
    assert waited_s <= 10.5
    assert left_s == pytest.approx(15 - waited_s)


def test_for_some_time_after_starts_what_has_ended_is_seen_at_once(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config))
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


def test_waiting_for_a_busy_server_is_no_reason_to_rest(clock: Clock, config: Path) -> None:
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


@pytest.mark.parametrize("after_s", [12.8, 13.4, 14.0, 14.45, 14.6])
def test_none_comes_that_would_reach_into_the_next_interval(clock: Clock, config: Path, after_s: float) -> None:
    clock.at[clock.now_s + after_s] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15, look_s=0.1), spent_s=0.01)
    assert left_s == 0 or left_s >= 0.4
    assert (left_s > 0) == (after_s < 14.4)
    assert waited_s <= 14.6


def test_a_pass_that_has_started_jobs_is_followed_whatever_the_server_counts(clock: Clock, config: Path) -> None:
    """As many may have ended by then, and the subjobs that still wait are in no count."""
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15), spent_s=0.01, started=True)
    assert left_s > 0
    assert waited_s <= PASS_S + 0.03


def test_a_scheduler_that_is_being_switched_is_seen_to_after_a_second(clock: Clock, config: Path) -> None:
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15), spent_s=0.01, unsettled=True)
    assert left_s > 0
    assert PASS_S + 1 <= waited_s <= PASS_S + 2


def test_a_reservation_that_comes_brings_a_pass_within_a_look(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + 3] = lambda: pbs_ifl.WORLD.update(reservations={"R1.server": {"reserve_state": "1"}})
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15, look_s=0.5))
    assert left_s > 0
    assert 3 <= waited_s <= 3.5


def test_a_process_that_is_late_makes_the_pass_that_is_due_itself(clock: Clock, config: Path) -> None:
    """PBS runs no second process beside one that is still there, and none in its place before the next interval."""
    early_passes = EarlyPasses(pbs_ifl, str(config))
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
    early_passes = EarlyPasses(pbs_ifl, str(config))
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


def test_a_process_without_an_alarm_makes_no_pass_that_is_due(clock: Clock, config: Path) -> None:
    clock.alarm_s = 0.0
    early_passes = EarlyPasses(pbs_ifl, str(config))
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(14.5)
    assert early_passes.wait(PassResult(0.02, 0.02, has_started=True)) is None


def test_after_a_quarter_of_an_hour_the_process_ends_however_busy(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config))
    begun_s, passes = clock.now_s, 0
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(3.0)
    while early_passes.wait(PassResult(0.5, 0.5, has_started=True)) is not None:
        passes += 1
        early_passes.begin_pass(SCHEDULE)
        clock.sleep(3.0)
    assert passes > 900 / 15
    assert begun_s + 900 <= clock.now_s <= begun_s + 915 - 0.4


def test_a_pass_as_long_as_an_interval_is_followed_by_none(clock: Clock, config: Path) -> None:
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15), took_s=16.0) == (16.0, 0.0)


def test_the_alarm_that_ends_the_waiting_is_no_error(
    clock: Clock, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ring(_seconds: float) -> None:
        raise KeyboardInterrupt

    early_passes = EarlyPasses(pbs_ifl, str(config))
    early_passes.begin_pass(ScheduleSettings(interval_s=15))
    monkeypatch.setattr(clock, "sleep", ring)
    assert early_passes.wait(PassResult(0.1, 0.1)) is None


def test_the_alarm_set_anew_is_the_hooks_own_however_long_the_process_took_to_start(
    clock: Clock, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy host a process may read what is left of its alarm when most of that is over."""
    monkeypatch.setattr(watched, "_read_age_s", lambda: 12.0)
    clock.alarm_s = 29.0 - 12.0
    early_passes = EarlyPasses(pbs_ifl, str(config))
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(2.9)
    assert early_passes.wait(PassResult(0.02, 0.02, has_started=True)) is not None
    assert early_passes.wait(PassResult(0.02, 0.02, has_started=True)) is not None
    assert set(clock.alarms) == {29.0}


def test_pbss_alarm_leaves_a_pass_nearly_two_intervals() -> None:
    for interval_s in (5, 15, 60):
        schedule = ScheduleSettings(interval_s=interval_s, budget_s=3.0)
        alarm_s = int(attributes_of("periodic", Settings(schedule=schedule))["alarm"])
        assert alarm_s >= 2 * interval_s - 1


def test_passes_that_follow_each_other_quickly_are_not_cut_off_on_a_busy_host() -> None:
    """Where thirty processes want to run on two cores, one that needs half a second of them takes ten and more."""
    schedule = ScheduleSettings(interval_s=1, budget_s=0.5)
    assert int(attributes_of("periodic", Settings(schedule=schedule))["alarm"]) >= 25


def test_whom_passes_of_this_process_have_started_none_of_those_ahead_starts_again(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config))
    for round_, tried in enumerate((["1.s", "8[3].s"], ["2.s"])):
        early_passes.begin_pass(ScheduleSettings(interval_s=15))
        count(f"Queued:{round_}")()
        coming = early_passes.wait(PassResult(PASS_S, PASS_S, tried))
    assert coming is not None
    assert coming.early is not None
    assert coming.early.tried == {"1.s", "8[3].s", "2.s"}


@pytest.mark.parametrize(
    ("schedule", "took_s"),
    [
        (ScheduleSettings(interval_s=15, look_s=0), PASS_S),
        (ScheduleSettings(interval_s=2), PASS_S),
        (ScheduleSettings(interval_s=15), 3.0),
    ],
    ids=["told not to", "interval too short", "pass too long"],
)
def test_none_comes(clock: Clock, config: Path, schedule: ScheduleSettings, took_s: float) -> None:
    clock.at[clock.now_s] = count(MORE)
    assert run_early_passes(clock, config, schedule, took_s, took_s) == pytest.approx((took_s, 0))


@pytest.mark.parametrize("suffix", [".HK", ".PY", ".CF"])
def test_none_comes_of_a_hook_that_somebody_has_changed(clock: Clock, config: Path, suffix: str) -> None:
    def change() -> None:
        new = config.with_suffix(".new")
        new.write_text("as it is now")
        new.replace(config.with_suffix(suffix))
        count(MORE)()

    clock.at[clock.now_s + 4] = change
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15))
    assert left_s == 0
    assert waited_s <= 4.5


def test_none_comes_of_a_hook_that_is_deleted(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + 4] = lambda: shutil.rmtree(config.parent)
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15))[1] == 0


def test_none_comes_once_the_server_is_gone(clock: Clock, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_the_parent() -> None:
        monkeypatch.setattr(os, "getppid", lambda: 1)
        count(MORE)()

    clock.at[clock.now_s + 4] = lose_the_parent
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15))
    assert left_s == 0
    assert waited_s <= 4.5


def test_none_comes_where_the_server_does_not_answer(clock: Clock, config: Path) -> None:
    """The pass that is due finds out, and says so."""
    pbs_ifl.WORLD["away"] = True
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15)) == pytest.approx((PASS_S, 0))


def test_none_comes_from_a_server_that_counts_nothing(clock: Clock, config: Path) -> None:
    del pbs_ifl.WORLD["server"]["state_count"]
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15)) == pytest.approx((PASS_S, 0))


def test_each_look_is_one_request_on_one_connection(clock: Clock, config: Path) -> None:
    run_early_passes(clock, config, ScheduleSettings(interval_s=15))
    assert [call[0] for call in pbs_ifl.CALLS] == ["connect", "disconnect"] * 2


def test_the_alarm_of_a_process_that_only_waits_cuts_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(EarlyPasses):
        def wait(self, passed: PassResult) -> NextPass | None:
            raise KeyboardInterrupt

    done = PassOutcome([], PassResult(0.1, 0.1), may_be_followed=True)
    monkeypatch.setitem(sys.modules, "pbs_ifl", pbs_ifl)
    monkeypatch.setattr(periodic, "EarlyPasses", Waiting)
    monkeypatch.setattr(periodic, "_handle_pass", lambda *_: done)
    assert periodic.handle(SimpleNamespace(hook_config_filename=None)) is None
