"""Stretches of time: what the user may write, and the day that is chosen without it."""

from __future__ import annotations

import pytest

from sim.report.time_span_given_or_most_preemptions import DAY_S, Span, busiest_day, parse_span
from tests.sim.small_jobs_and_replays import a_job, a_replay, ran


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("12d+36h", Span(12 * DAY_S, 12 * DAY_S + 36 * 3600)),
        ("0s+1s", Span(0, 1)),
        (" 1.5h+30m ", Span(5400, 7200)),
    ],
)
def test_a_span_is_a_start_and_a_length(text: str, span: Span) -> None:
    assert parse_span(text) == span


@pytest.mark.parametrize(
    "text", ["", "12d", "12+1", "1d+0s", "1d-1d", "-1d+1d", "1e9d+1d", "1w+1d", "1d+1d+1d", "nand+1d"]
)
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="span ") as refused:
        parse_span(text)
    assert repr(text) in str(refused.value)


def test_a_span_is_moved_whole() -> None:
    assert Span(10, 30).after(5) == Span(15, 35)


def test_the_busiest_day_is_the_one_with_most_preemptions() -> None:
    calm = ran(a_job(1, 0), (9 * DAY_S, 9 * DAY_S + 100))
    cut = ran(a_job(2, 0), (2 * DAY_S, 3 * DAY_S + 5), (3 * DAY_S + 50, 4 * DAY_S))
    assert busiest_day([a_replay(calm), a_replay(calm, cut)]) == Span(3 * DAY_S, 4 * DAY_S)


def test_without_preemptions_it_is_the_day_on_which_most_jobs_wait() -> None:
    # Three single cores wait on day 1, one job for four cores on day 2.
    small = [ran(a_job(n, DAY_S), (2 * DAY_S, 2 * DAY_S + 100)) for n in (2, 3, 4)]
    first, large = ran(a_job(1), (0, 100)), ran(a_job(5, 2 * DAY_S, cores=4), (3 * DAY_S, 3 * DAY_S + 100))
    assert busiest_day([a_replay(first, *small, large)]) == Span(DAY_S, 2 * DAY_S)


def test_days_are_counted_from_the_first_submit_to_the_last_end() -> None:
    assert busiest_day([a_replay(ran(a_job(1, 1000), (1000, 1100), (1200, 1300)))]) == Span(1000, 1300)


def test_a_day_has_a_length_also_where_the_only_job_has_none() -> None:
    assert busiest_day([a_replay(ran(a_job(1, 7, 0), (7, 7)))]) == Span(7, 8)
