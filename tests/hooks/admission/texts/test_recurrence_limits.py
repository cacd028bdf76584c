"""How often and for how long a reservation may recur, read from its rule."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from hooks.admission.texts.recurrence_limits import find_costly_recurrence

START_S = datetime(2026, 12, 1, 8, tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;COUNT=400",
        "freq=daily;count=400;",
        "FREQ=HOURLY;COUNT=400",
        "FREQ=HOURLY;INTERVAL=100;COUNT=400",
        "FREQ=WEEKLY;COUNT=260",
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=400",
        "FREQ=WEEKLY;BYDAY=MO,FR;BYHOUR=9,15;COUNT=400",
        "FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR;COUNT=260",
        "FREQ=DAILY;BYHOUR=8,20;COUNT=400",
        "FREQ=MONTHLY;COUNT=59",
        "FREQ=MONTHLY;BYDAY=2MO;COUNT=59",
        "FREQ=MONTHLY;BYDAY=MO;COUNT=200",
        "FREQ=YEARLY;COUNT=5",
        "FREQ=YEARLY;BYMONTH=1,7;COUNT=10",
        "FREQ=DAILY;UNTIL=20271230T080000Z",
        "FREQ=DAILY;UNTIL=2027-12-30",
        "FREQ=WEEKLY;BYDAY=MO,FR;UNTIL=20291231",
        "FREQ=DAILY;INTERVAL=7;UNTIL=20301231",
        "FREQ=DAILY",
        "FREQ=DAILY;UNTIL=20200101",
    ],
)
def test_rules_within_the_bounds_pass(rule: str) -> None:
    assert find_costly_recurrence(rule, START_S) == ""


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY;COUNT=401", "it recurs up to 401 times; allowed are 400 occurrences within 1,830 days"),
        ("FREQ=HOURLY;COUNT=9999", "up to 9,999 times"),
        ("FREQ=DAILY;UNTIL=20280301", "times"),
        ("FREQ=DAILY;BYHOUR=1,2,3;UNTIL=20270601", "times"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;UNTIL=20300101", "times"),
        ("FREQ=WEEKLY;COUNT=262", "it recurs for up to 1,834 days"),
        ("FREQ=DAILY;INTERVAL=9999;COUNT=3", "days"),
        ("FREQ=YEARLY;COUNT=6", "days"),
        ("FREQ=DAILY;BYMONTH=2;BYDAY=MO;COUNT=100", "days"),
        ("FREQ=MONTHLY;BYDAY=5MO;COUNT=100", "days"),
        ("FREQ=YEARLY;UNTIL=20400101", "days"),
        ("FREQ=SECONDLY;COUNT=3", "cannot be read"),
        ("FREQ=MINUTELY;COUNT=3", "cannot be read"),
        ("FREQ=HOURLY;BYHOUR=5;COUNT=3", "cannot be read"),
        ("FREQ=DAILY;FREQ=SECONDLY;COUNT=3", "cannot be read"),
        ("FREQ=DAILY;COUNT=4294967299", "cannot be read"),
        ("FREQ=DAILY;COUNT=-3", "cannot be read"),
        ("FREQ=DAILY;COUNT=3x", "cannot be read"),
        ("FREQ=DAILY;INTERVAL=65537;UNTIL=20401231", "cannot be read"),
        ("FREQ=DAILY;BYSETPOS=1;COUNT=3", "cannot be read"),
        ("FREQ=DAILY;UNTIL=99999999999", "UNTIL='99999999999', which cannot be read"),
        ("FREQ=DAILY;UNTIL=soon", "which cannot be read"),
        ("FREQ=DAILY;UNTIL=" + "9" * 9000, "which cannot be read"),
        ("", "cannot be read"),
        ("FREQ=DAILY;BYDAY=;COUNT=3", "cannot be read"),
    ],
)
def test_costly_and_unreadable_rules_are_refused(rule: str, words: str) -> None:
    refusal = find_costly_recurrence(rule, START_S)
    assert words in refusal
    assert len(refusal) < 350
