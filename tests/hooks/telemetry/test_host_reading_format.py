"""The line that a host reports: written and read back, what is nonsense in it, and when it is worth sending."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hooks.telemetry.host_reading_format import (
    INTERVAL_S,
    STALE_INTERVALS,
    Amount,
    Heat,
    HostReading,
    is_due,
    parse_reading,
)
from policy.settings.ranking_and_stripe_settings import RankingSettings

FULL = HostReading(1795229283.0, 0.97, Amount(52429, 64296), Amount(9800, 10000), Heat(41, 100))
LINE = "t=1795229283;idle=0.97;mem=52429/64296;net=9800/10000;temp=41/100"


def test_the_line_says_all_that_was_measured_and_nothing_of_what_was_not() -> None:
    assert FULL.show() == LINE
    assert parse_reading(LINE) == FULL
    assert HostReading(5.0).show() == "t=5"
    assert HostReading(5.0, heat=Heat(-3.0)).show() == "t=5;temp=-3"
    assert parse_reading("t=5;temp=-3") == HostReading(5.0, heat=Heat(-3.0))


whole = st.integers(0, 10**9)


@given(
    st.builds(
        HostReading,
        whole.map(float),
        st.none() | st.integers(0, 100).map(lambda percent: percent / 100),
        st.none() | st.tuples(whole, whole).map(lambda pair: Amount(float(min(pair)), float(max(*pair, 1)))),
        st.none() | st.tuples(whole, whole).map(lambda pair: Amount(float(min(pair)), float(max(*pair, 1)))),
        st.none() | st.builds(Heat, st.integers(-60, 250).map(float), st.none() | st.integers(1, 250).map(float)),
    )
)
def test_reading_back_gives_what_was_shown(reading: HostReading) -> None:
    assert parse_reading(reading.show()) == reading


@given(st.text(alphabet="t=;0123456789idlememp/.-naf ", max_size=60) | st.text(max_size=60))
def test_no_text_whatever_is_too_odd(text: str) -> None:
    reading = parse_reading(text)
    assert reading is None or parse_reading(reading.show()) is not None


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("idle=1.5", "idle"), ("idle=nan", "idle"), ("idle=", "idle"),
        ("mem=5", "memory_mib"), ("mem=5/0", "memory_mib"), ("mem=-5/10", "memory_mib"),
        ("mem=1e99/1e99", "memory_mib"), ("net=x/10", "network_mbit"),
        ("temp=900", "heat"), ("temp=inf/100", "heat"), ("temp=", "heat"),
    ],
)  # fmt: skip
def test_a_part_that_makes_no_sense_is_as_if_it_were_not_there(part: str, name: str) -> None:
    reading = parse_reading(f"t=7;{part};new=1")
    assert reading is not None
    assert (reading.time_s, getattr(reading, name)) == (7, None)


def test_without_a_time_there_is_no_reading() -> None:
    assert [parse_reading(text) for text in ("", "idle=0.5", "t=;idle=1", "t=-4", "garbage")] == [None] * 5


def later(seconds: float, **parts: object) -> HostReading:
    return FULL._replace(time_s=FULL.time_s + seconds, **parts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reading", "due"),
    [
        (later(60), False),
        (later(60, idle=0.96), False),
        (later(60, idle=0.90), True),
        (later(60, memory_mib=Amount(52000, 64296)), False),
        (later(60, memory_mib=Amount(40000, 64296)), True),
        (later(60, memory_mib=None), True),
        (later(60, network_mbit=Amount(9790, 10000)), False),
        (later(60, network_mbit=Amount(9800, 20000)), True),
        (later(60, heat=Heat(42, 100)), False),
        (later(60, heat=Heat(48, 100)), True),
        (later(60, heat=Heat(41)), True),
        (later(120), True),
        (later(-60), True),
    ],
)
def test_only_what_has_changed_or_would_soon_be_too_old_is_sent(reading: HostReading, due: bool) -> None:
    assert is_due(reading, FULL, interval_s=60, stale_s=180) is due
    assert is_due(reading, None, interval_s=60, stale_s=180)


@given(st.integers(1, 600), st.integers(1, 20), st.lists(st.floats(0, 1), min_size=1, max_size=39))
@example(2, 3, [0.0, 1.0])
def test_a_host_on_which_nothing_changes_is_never_stale_at_the_server(
    interval_s: int, stale: int, lateness: list[float]
) -> None:
    """Even where runs come late, by up to nearly half an interval and two seconds; three intervals or more need fewer
    reports than runs, unless they are short."""
    sent, reports = FULL, 0
    for run in range(1, 40):
        late = lateness[(run - 1) % len(lateness)]
        now = FULL._replace(time_s=FULL.time_s + interval_s * run + (0.45 * interval_s + 2) * late)
        if interval_s * (stale - 1.5) >= 2:
            assert now.time_s - sent.time_s <= interval_s * stale
        if is_due(now, sent, interval_s, stale * interval_s):
            sent, reports = now, reports + 1
    assert reports < 30 or stale < 3 or interval_s < 10


def test_what_a_host_takes_for_its_interval_without_settings_is_what_the_settings_have() -> None:
    ranking = RankingSettings()
    assert (ranking.interval_s, ranking.stale_intervals) == (INTERVAL_S, STALE_INTERVALS)
