"""Moments of a table: ISO 8601, in the local time zone without an offset, clear when clocks are changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import date, datetime, timezone

import pytest

from tui.quota_files.iso_times_in_quota_tables import one_zone, read_moment, show_moment, zone_of

DECEMBER_S = datetime(2026, 12, 1, 7, tzinfo=timezone.utc).timestamp()


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Central European time, by its rule alone, which needs no database of zones."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    "value",
    [
        "2026-12-01 08:00", "2026-12-01T08:00", " 2026-12-01T08:00:00 ",
        "2026-12-01T07:00:00Z", "2026-12-01 09:00+02:00",
        "2026-12-01T09:00:00 +0200", datetime(2026, 12, 1, 7, tzinfo=timezone.utc), datetime(2026, 12, 1, 8),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_one_moment_in_many_spellings(value: object) -> None:
    assert read_moment(value) == DECEMBER_S


def test_a_day_begins_at_midnight() -> None:
    midnight_s = DECEMBER_S - 8 * 3600
    assert read_moment("2026-12-01") == read_moment(date(2026, 12, 1)) == midnight_s
    assert show_moment(midnight_s) == "2026-12-01 00:00"
    assert show_moment(midnight_s + 1) == "2026-12-01 00:00:01"
    assert zone_of(midnight_s) == "CET, UTC+01:00"


@pytest.mark.parametrize("value", ["", "tomorrow", "1.12.2026", "2026-13-01", "2026-12-01 24:01", 5, None])
def test_anything_else_is_refused_with_what_is_allowed(value: object) -> None:
    with pytest.raises(ValueError, match="allowed is 2026-12-01"):
        read_moment(value)


@pytest.mark.parametrize(
    "value",
    [
        "9999-12-31T23:59:59-10:00", "9999-12-31T23:59:59+10:00", "9999-12-31", "9999-12-31T00:00Z",
        "0001-01-01", "0001-01-01T23:59Z", "0001-01-01T00:00:00+10:00", datetime.max.replace(tzinfo=timezone.utc),
    ],
)  # fmt: skip
def test_a_moment_that_is_no_date_in_every_time_zone_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="allowed are days from 0001-01-03 until 9999-12-30"):
        read_moment(value)


@pytest.mark.parametrize("value", ["9999-12-30 23:59:59", "9999-12-30T23:59:59Z", "0001-01-03", "0001-01-02T00:00Z"])
def test_whatever_is_read_can_be_shown(value: str) -> None:
    assert show_moment(read_moment(value)) != "beyond the calendar"
    assert zone_of(read_moment(value))


def test_a_stored_moment_out_of_the_calendar_is_shown_as_such() -> None:
    for at_s in (253402336799.0, -1e13, 1e300):
        assert (show_moment(at_s), zone_of(at_s)) == ("beyond the calendar", "")


def test_a_local_time_that_clocks_skip_or_show_twice_needs_an_offset() -> None:
    with pytest.raises(ValueError, match="does not exist, as clocks are changed"):
        read_moment("2027-03-28 02:30")
    with pytest.raises(ValueError, match="exists twice, as clocks are changed"):
        read_moment("2026-10-25 02:30")
    assert read_moment("2026-10-25 02:30+02:00") + 3600 == read_moment("2026-10-25 02:30+01:00")


def test_moments_between_which_clocks_are_changed_have_their_offsets() -> None:
    july_s = DECEMBER_S + 212 * 86_400
    zone, show = one_zone([DECEMBER_S, DECEMBER_S + 60])
    assert (zone, show(DECEMBER_S)) == ("CET, UTC+01:00", "2026-12-01 08:00")
    zone, show = one_zone([july_s])
    assert (zone, show(july_s)) == ("CEST, UTC+02:00", "2027-07-01 09:00")
    zone, show = one_zone([DECEMBER_S, july_s, 1e300])
    assert zone == "each with its offset from UTC"
    assert [show(at_s) for at_s in (DECEMBER_S, july_s)] == ["2026-12-01 08:00+01:00", "2027-07-01 09:00+02:00"]
    assert [read_moment(show(at_s)) for at_s in (DECEMBER_S, july_s)] == [DECEMBER_S, july_s]
    assert show(1e300) == "beyond the calendar"
