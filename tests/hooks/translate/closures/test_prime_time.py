"""Prime and non-prime time: what the scheduler's files say, and which queues start jobs when."""

from __future__ import annotations

import math
import time

import pytest

from hooks.translate.closures.prime_time import NON_PRIME, PRIME, read_prime_rules, read_prime_time
from hooks.translate.snapshot import translate
from policy.eligibility.longest_run_by_prime_time import find_longest_run_s
from policy.model.jobs_runs_vnodes_queues import CROSSING, STARTS, Queue, Window
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import queue, server_status

HOLIDAYS = """
* the table of a site
YEAR 2026
  weekday   0600  1730
  saturday  none  all
  sunday    none  all
#
  359   Dec 25   Christmas Day
"""
WEEKDAY, SATURDAY, CHRISTMAS, EVE = "2026-11-25", "2026-11-28", "2026-12-25", "2026-12-24"


def at_s(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


@pytest.mark.parametrize(
    ("moment", "is_prime"),
    [
        (f"{WEEKDAY} 05:59", False), (f"{WEEKDAY} 06:00", True), (f"{WEEKDAY} 17:29", True),
        (f"{WEEKDAY} 17:30", False), (f"{SATURDAY} 12:00", False), (f"{CHRISTMAS} 12:00", False),
        (f"{EVE} 12:00", True),
    ],
)  # fmt: skip
def test_prime_time_is_between_its_two_times_of_a_day_that_is_no_holiday(moment: str, is_prime: bool) -> None:
    assert read_prime_time(HOLIDAYS).is_prime(at_s(moment)) is is_prime


@pytest.mark.parametrize(
    ("line", "at_noon", "at_night"),
    [
        ("weekday all none", True, True), ("weekday none all", False, False), ("weekday 1730 0600", False, True),
        ("weekday all all", True, True), ("weekday none none", True, True), ("weekday 0000 0000", True, True),
        ("weekday 0800 0800", False, False), ("saturday none all", True, True), ("wednesday 0600 none", True, True),
        ("wednesday none 0600", False, False), ("weekday none all\nwednesday ALL NONE", True, True),
        ("weekday none none\nwednesday 0600 1730", True, True), ("wednesday none all\nweekday 0600 1730", False, False),
        ("weekday none 1730\nwednesday 0600 none", True, True), ("wednesday 0600 all\nweekday 0 0", True, True),
        ("weekday 0600 none\nwednesday 0600 1730", True, True), ("wednesday 0600 1730\nweekday 0 0", True, True),
    ],
)  # fmt: skip
def test_days_are_read_as_pbs_sched_reads_them(line: str, at_noon: bool, at_night: bool) -> None:
    times = read_prime_time(f"YEAR 2026\n{line}\n")
    assert [times.is_prime(at_s(f"{WEEKDAY} {hour}")) for hour in ("12:00", "23:00")] == [at_noon, at_night]


@pytest.mark.parametrize("text", ["", "# nothing\n", HOLIDAYS.replace("YEAR", "#YEAR"), "YEAR 0\nweekday none all"])
def test_without_a_year_it_is_always_prime_time(text: str) -> None:
    times = read_prime_time(text)
    assert times.is_prime(at_s(f"{SATURDAY} 12:00"))
    assert times.changes(at_s(f"{SATURDAY} 12:00")) == []


@pytest.mark.parametrize("line", ["weekday 0600", "weekday six 1730", "monday 0660 1730", "YEAR soon", "Christmas"])
def test_a_line_that_cannot_be_read_is_reported(line: str) -> None:
    assert read_prime_time(f"# so:\n{line}\n").unread == line


def test_changes_come_in_order_over_weekends_and_holidays() -> None:
    changes = read_prime_time(HOLIDAYS).changes(at_s(f"{EVE} 12:00"))
    assert changes[:3] == [at_s(f"{EVE} 17:30"), at_s("2026-12-28 06:00"), at_s("2026-12-28 17:30")]


def windows_of(queue_name: str, config: str, moment: str, holidays: str = HOLIDAYS) -> tuple[Window, ...]:
    return read_prime_rules({"sched_config": config, "holidays": holidays}).close_queue(queue_name, at_s(moment))


def test_a_queue_of_one_time_is_closed_to_starts_in_the_other() -> None:
    night, morning = at_s(f"{WEEKDAY} 17:30"), at_s("2026-11-26 06:00")
    assert windows_of("p_work", "", f"{WEEKDAY} 12:00")[0] == Window(night, morning, NON_PRIME, closed_to=STARTS)
    assert windows_of("np_work", "", f"{WEEKDAY} 12:00")[0] == Window(0.0, night, PRIME, closed_to=STARTS)
    assert windows_of("workq", "", f"{WEEKDAY} 12:00") == ()
    assert windows_of("work", "nonprimetime_prefix: wo\n", f"{WEEKDAY} 12:00")[0].name == PRIME
    assert windows_of("work", 'primetime_prefix: ""\n', f"{SATURDAY} 12:00")[0].name == NON_PRIME


def test_where_it_is_always_prime_time_queues_of_the_other_start_nothing() -> None:
    assert windows_of("np_work", "", f"{WEEKDAY} 12:00", "") == (Window(0.0, math.inf, PRIME, closed_to=STARTS),)
    assert windows_of("p_work", "backfill_prime: True ALL\n", f"{WEEKDAY} 12:00", "") == ()


def test_jobs_do_not_cross_the_end_of_a_time_of_which_backfill_prime_is_true() -> None:
    night, morning = at_s(f"{WEEKDAY} 17:30"), at_s("2026-11-26 06:00")
    both = windows_of("workq", "backfill_prime: True ALL\n", f"{WEEKDAY} 12:00")
    assert both[:2] == (
        Window(0.0, night, PRIME, closed_to=CROSSING),
        Window(night, morning, NON_PRIME, closed_to=CROSSING),
    )
    config = "backfill_prime: True prime\nbackfill_prime: False non_prime\n"
    assert {window.name for window in windows_of("workq", config, f"{WEEKDAY} 12:00")[:-1]} == {PRIME}


@pytest.mark.parametrize("config", ["backfill_prime: True ALL\n", "backfill_prime: True prime\n"])
def test_the_last_of_them_has_no_end_as_that_is_not_known(config: str) -> None:
    *_, last = windows_of("workq", config, f"{WEEKDAY} 12:00")
    assert (last.end_s, last.closed_to) == (math.inf, CROSSING)
    assert last.start_s > at_s(f"{WEEKDAY} 12:00") + 7 * 86400
    assert not last.meets(last.start_s, math.inf)


def test_no_job_runs_longer_than_from_friday_evening_to_monday_morning() -> None:
    closed = windows_of("workq", "backfill_prime: True ALL\n", f"{WEEKDAY} 12:00")
    assert find_longest_run_s(Queue("workq", closed=closed), at_s(f"{WEEKDAY} 12:00")) == 60.5 * 3600


def test_the_word_of_prime_spill_says_into_which_time() -> None:
    config = 'backfill_prime: True ALL\nprime_spill: "1:00:00" non_prime\nprime_spill: "0:30:00" prime\n'
    windows = windows_of("workq", config, f"{WEEKDAY} 12:00")
    assert [(window.name, window.past_end_s) for window in windows[:2]] == [(PRIME, 3600), (NON_PRIME, 1800)]


def test_queues_of_neither_time_may_be_exempt_from_its_end() -> None:
    config = "backfill_prime: True ALL\nprime_exempt_anytime_queues: true\n"
    assert windows_of("workq", config, f"{WEEKDAY} 12:00") == ()
    assert windows_of("p_work", config, f"{WEEKDAY} 12:00") != ()


def test_the_snapshot_has_the_windows_of_its_queues() -> None:
    files = {"default": {"sched_config": "", "holidays": ""}}
    seen = server_status(queues={"workq": queue(), "np_work": queue()})
    queues = translate(seen, Settings(), files).snapshot.queues
    assert [queues[name].closed != () for name in ("workq", "np_work")] == [False, True]
