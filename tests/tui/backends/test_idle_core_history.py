"""Idle cores in time, whatever the moments at which samples are taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.backends.idle_core_history import HOUR_S, IdleHistory, Sample, spans

AT_S = 1000 * HOUR_S


def mean_of(*samples: Sample) -> float:
    parts = [part for pair in zip(samples, samples[1:]) for part in spans(*pair)]
    return sum(seconds * idle for _, seconds, idle in parts) / sum(seconds for _, seconds, _ in parts)


def test_a_cluster_full_of_short_jobs_is_not_taken_for_an_empty_one() -> None:
    """Each pass finds all 24 cores idle and gives them away at once; jobs end evenly until the next."""
    passes = [Sample(AT_S + 0.8 * number, 24, 0) for number in range(100)]
    assert mean_of(*passes) == pytest.approx(12)


def test_time_counts_and_not_how_often_a_sample_is_taken() -> None:
    """Busy for a minute with a pass each second, then empty for nine with one each 15 seconds."""
    busy = [Sample(AT_S + second, 0, 0) for second in range(61)]
    empty = [Sample(AT_S + 60 + second, 10, 10) for second in range(15, 541, 15)]
    assert mean_of(*busy, *empty) == pytest.approx(9, rel=0.02)


def test_of_a_long_silence_nothing_is_known() -> None:
    assert [*spans(Sample(AT_S, 3, 3), Sample(AT_S + 301, 7, 5))] == [(1000, 1.0, 5)]
    assert [*spans(Sample(AT_S + 9, 3, 3), Sample(AT_S, 7, 5))] == [(1000, 1.0, 5)]
    assert [*spans(None, Sample(AT_S, 7, 5))] == [(1000, 1.0, 5)]


@given(st.floats(1, 300), st.floats(0, 1))
def test_what_spans_two_hours_is_divided_between_them(span_s: float, part: float) -> None:
    first, last = Sample(AT_S - part * span_s, 0, 8), Sample(AT_S + (1 - part) * span_s, 2, 0)
    found = [*spans(first, last)]
    assert sum(seconds for _, seconds, _ in found) == pytest.approx(span_s)
    assert sum(seconds * idle for _, seconds, idle in found) == pytest.approx(5 * span_s)
    assert {hour for hour, seconds, _ in found if seconds > 1e-6} <= {999, 1000}


def test_the_console_prefers_what_tells_more_of_an_hour() -> None:
    watched = IdleHistory().sampled(AT_S, 6, 8).sampled(AT_S + 100, 2, 8)
    assert watched.ratio == pytest.approx(0.5, rel=0.01)
    assert watched.with_passes({1000: (50.0, 8.0)}, 8).ratio == watched.ratio
    assert watched.with_passes({1000: (500.0, 8.0), 999: (500.0, 0.0)}, 8).ratio == 0.5
    assert watched.sampled(AT_S + 100, 8, 8) is watched, "the clock went back, or stood still"
    assert watched.sampled(AT_S + 200, 0, 0) is watched, "there are no cores"


def test_a_day_is_kept() -> None:
    history = IdleHistory()
    for hour in range(30):
        history = history.sampled(AT_S + hour * HOUR_S, 1, 2)
    assert [hour.number for hour in history.hours] == [*range(1006, 1030)]
    assert history.ratio == 0.5
