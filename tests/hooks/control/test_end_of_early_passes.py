"""What ends early passes or allows none: settings, a changed hook, a server that is gone, and the alarm."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from hooks.control import early_pass
from hooks.control.early_pass import EarlyPasses, NextPass, PassResult
from hooks.control.pass_guard import PassOutcome
from hooks.deploy.hook_events_alarms_and_order import attributes_of
from hooks.entries import periodic
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import Settings
from tests.hooks.control.early_passes_by_fake_clock import (
    MORE,
    PASS_S,
    SCHEDULE,
    Clock,
    count,
    run_early_passes,
)
from tests.hooks.stand_in import pbs_ifl


@pytest.mark.parametrize("after_s", [12.8, 13.4, 14.0, 14.45, 14.6])
def test_no_early_pass_would_reach_into_the_next_interval(clock: Clock, config: Path, after_s: float) -> None:
    clock.at[clock.now_s + after_s] = count(MORE)
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15, look_s=0.1), spent_s=0.01)
    assert left_s == 0 or left_s >= 0.4
    assert (left_s > 0) == (after_s < 14.4)
    assert waited_s <= 14.6


def test_a_process_without_an_alarm_makes_no_pass_that_is_due(clock: Clock, config: Path) -> None:
    clock.alarm_s = 0.0
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    early_passes.begin_pass(SCHEDULE)
    clock.sleep(14.5)
    assert early_passes.wait(PassResult(0.02, 0.02, has_started=True)) is None


def test_after_a_quarter_of_an_hour_the_process_ends_however_busy(clock: Clock, config: Path) -> None:
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
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

    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
    early_passes.begin_pass(ScheduleSettings(interval_s=15))
    monkeypatch.setattr(clock, "sleep", ring)
    assert early_passes.wait(PassResult(0.1, 0.1)) is None


def test_the_alarm_set_anew_is_the_hooks_own_however_long_the_process_took_to_start(
    clock: Clock, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy host a process may read what is left of its alarm when most of that is over."""
    monkeypatch.setattr(early_pass, "_read_age_s", lambda: 12.0)
    clock.alarm_s = 29.0 - 12.0
    early_passes = EarlyPasses(pbs_ifl, str(config), config.parent)
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


@pytest.mark.parametrize(
    ("schedule", "took_s"),
    [
        (ScheduleSettings(interval_s=15, look_s=0), PASS_S),
        (ScheduleSettings(interval_s=2), PASS_S),
        (ScheduleSettings(interval_s=15), 3.0),
    ],
    ids=["switched off", "interval too short", "pass too long"],
)
def test_no_early_pass(clock: Clock, config: Path, schedule: ScheduleSettings, took_s: float) -> None:
    clock.at[clock.now_s] = count(MORE)
    assert run_early_passes(clock, config, schedule, took_s, took_s) == pytest.approx((took_s, 0))


@pytest.mark.parametrize("suffix", [".HK", ".PY", ".CF"])
def test_no_early_pass_of_a_changed_hook(clock: Clock, config: Path, suffix: str) -> None:
    def change() -> None:
        new = config.with_suffix(".new")
        new.write_text("as it is now")
        new.replace(config.with_suffix(suffix))
        count(MORE)()

    clock.at[clock.now_s + 4] = change
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15))
    assert left_s == 0
    assert waited_s <= 4.5


def test_no_early_pass_of_a_deleted_hook(clock: Clock, config: Path) -> None:
    clock.at[clock.now_s + 4] = lambda: shutil.rmtree(config.parent)
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15))[1] == 0


def test_no_early_pass_once_the_server_is_gone(clock: Clock, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_the_parent() -> None:
        monkeypatch.setattr(os, "getppid", lambda: 1)
        count(MORE)()

    clock.at[clock.now_s + 4] = lose_the_parent
    waited_s, left_s = run_early_passes(clock, config, ScheduleSettings(interval_s=15))
    assert left_s == 0
    assert waited_s <= 4.5


def test_no_early_pass_where_the_server_does_not_answer(clock: Clock, config: Path) -> None:
    """The pass that is due finds out, and says so."""
    pbs_ifl.WORLD["away"] = True
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15)) == pytest.approx((PASS_S, 0))


def test_no_early_pass_without_the_counts_of_the_server(clock: Clock, config: Path) -> None:
    del pbs_ifl.WORLD["server"]["state_count"]
    assert run_early_passes(clock, config, ScheduleSettings(interval_s=15)) == pytest.approx((PASS_S, 0))


def test_the_alarm_of_a_process_that_only_waits_cuts_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(EarlyPasses):
        def wait(self, passed: PassResult) -> NextPass | None:
            raise KeyboardInterrupt

    done = PassOutcome([], PassResult(0.1, 0.1), may_be_followed=True)
    monkeypatch.setitem(sys.modules, "pbs_ifl", pbs_ifl)
    monkeypatch.setattr(periodic, "EarlyPasses", Waiting)
    monkeypatch.setattr(periodic, "_handle_pass", lambda *_: done)
    assert periodic.handle(SimpleNamespace(hook_config_filename=None, pbs_conf={"PBS_HOME": "/nowhere"})) is None
