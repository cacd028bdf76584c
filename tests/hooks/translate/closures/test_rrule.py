"""When standing reservations recur."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from hooks.translate.closures.rrule import find_starts

ZONE = "Europe/Berlin"
FRIDAY_S = datetime(2026, 10, 23, 9, 30, tzinfo=ZoneInfo(ZONE)).timestamp()


def starts(rule: str, count: int = 4) -> list[str]:
    found = find_starts(rule, FRIDAY_S, ZONE, count)
    assert found is not None
    return [datetime.fromtimestamp(at_s, ZoneInfo(ZONE)).strftime("%a %d %b %H:%M") for at_s in found]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # The clock goes back on the 25th: the hour of the day stays.
        ("FREQ=DAILY;COUNT=4", "Fri 23 Oct 09:30, Sat 24 Oct 09:30, Sun 25 Oct 09:30, Mon 26 Oct 09:30"),
        ("FREQ=DAILY;INTERVAL=2", "Fri 23 Oct 09:30, Sun 25 Oct 09:30, Tue 27 Oct 09:30, Thu 29 Oct 09:30"),
        ("FREQ=DAILY;BYHOUR=9,20", "Fri 23 Oct 09:30, Fri 23 Oct 20:30, Sat 24 Oct 09:30, Sat 24 Oct 20:30"),
        ("FREQ=WEEKLY;UNTIL=20261231T000000", "Fri 23 Oct 09:30, Fri 30 Oct 09:30, Fri 06 Nov 09:30, Fri 13 Nov 09:30"),
        ("FREQ=WEEKLY;BYDAY=MO,FR", "Fri 23 Oct 09:30, Mon 26 Oct 09:30, Fri 30 Oct 09:30, Mon 02 Nov 09:30"),
        ("freq=weekly; interval=2; byday=fr,mo",
         "Fri 23 Oct 09:30, Mon 02 Nov 09:30, Fri 06 Nov 09:30, Mon 16 Nov 09:30"),
        ("FREQ=HOURLY;INTERVAL=8", "Fri 23 Oct 09:30, Fri 23 Oct 17:30, Sat 24 Oct 01:30, Sat 24 Oct 09:30"),
        ("FREQ=MONTHLY", "Fri 23 Oct 09:30, Mon 23 Nov 09:30, Wed 23 Dec 09:30, Sat 23 Jan 09:30"),
        ("FREQ=YEARLY", "Fri 23 Oct 09:30, Sat 23 Oct 09:30, Mon 23 Oct 09:30, Tue 23 Oct 09:30"),
    ],
)  # fmt: skip
def test_the_next_four(rule: str, expected: str) -> None:
    assert ", ".join(starts(rule)) == expected


def test_months_without_the_date_are_passed_over() -> None:
    first_s = datetime(2026, 1, 31, 12, tzinfo=ZoneInfo(ZONE)).timestamp()
    found = find_starts("FREQ=MONTHLY", first_s, ZONE, 3) or []
    assert [datetime.fromtimestamp(at_s, ZoneInfo(ZONE)).month for at_s in found] == [1, 3, 5]


@pytest.mark.parametrize(
    "rule",
    ["", "DAILY", "FREQ=SECONDLY", "FREQ=DAILY;BYSETPOS=1", "FREQ=WEEKLY;BYDAY=XX", "FREQ=MONTHLY;BYDAY=2MO",
     "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;INTERVAL=x", "FREQ=DAILY;BYHOUR=25", "FREQ=HOURLY;BYMINUTE=5"],
)  # fmt: skip
def test_other_rules_are_none_that_can_be_read(rule: str) -> None:
    assert find_starts(rule, FRIDAY_S, ZONE, 3) is None


def test_a_zone_that_is_not_known_here_is_the_hosts_own() -> None:
    assert find_starts("FREQ=HOURLY", FRIDAY_S, "No/Where", 2) == [FRIDAY_S, FRIDAY_S + 3600]
