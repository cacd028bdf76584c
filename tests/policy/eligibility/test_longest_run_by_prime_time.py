"""The longest run that prime and non-prime time allow, at whatever time it starts."""

from __future__ import annotations

import pytest

from policy.eligibility.longest_run_by_prime_time import (
    explain_too_long,
    find_longest_planned_run_s,
    find_longest_run_s,
)
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import CROSSING, STARTS, UNLIMITED_S, Job, Queue, Window

NOW_S = 100.0
PRIME = Window(0.0, 900.0, "prime time", closed_to=CROSSING)
OTHER = Window(900.0, 1900.0, "non-prime time", closed_to=CROSSING)
LAST = Window(1900.0, UNLIMITED_S, "prime time", closed_to=CROSSING)


def longest(*closed: Window, now_s: float = NOW_S) -> float:
    return find_longest_run_s(Queue("workq", closed=closed), now_s)


@pytest.mark.parametrize("now_s", [950.0, 1899.0, 1900.0, 9000.0])
def test_a_forecast_that_looks_further_ahead_finds_the_same(now_s: float) -> None:
    assert longest(PRIME, OTHER, LAST, now_s=now_s) == 1000.0


@pytest.mark.parametrize(
    ("closed", "longest_s"),
    [
        pytest.param((), UNLIMITED_S, id="none"),
        pytest.param((Window(500.0, 900.0, "dedicated time"),), UNLIMITED_S, id="dedicated"),
        pytest.param((PRIME, OTHER), UNLIMITED_S, id="open afterwards"),
        pytest.param((PRIME, OTHER, LAST), 1000.0, id="the longer one"),
        pytest.param((PRIME, LAST._replace(start_s=900.0)), 800.0, id="what is left of now"),
        pytest.param((PRIME, OTHER._replace(past_end_s=60.0), LAST), 1060.0, id="spill"),
        pytest.param((PRIME, OTHER._replace(closed_to=STARTS), LAST), 800.0, id="closed later"),
        pytest.param((PRIME._replace(closed_to=STARTS), OTHER, LAST), 1000.0, id="closed now"),
        pytest.param((PRIME, OTHER._replace(start_s=1000.0), LAST), UNLIMITED_S, id="open between"),
        pytest.param((PRIME._replace(closed_to=STARTS, end_s=1900.0), LAST), UNLIMITED_S, id="never"),
    ],
)
def test_the_longest_of_all_times_in_which_the_queue_starts_jobs_counts(
    closed: tuple[Window, ...], longest_s: float
) -> None:
    assert longest(*closed) == longest_s


@pytest.mark.parametrize(
    ("at_s", "longest_s"), [(NOW_S, UNLIMITED_S), (1899.0, UNLIMITED_S), (1900.0, 970.0), (9000.0, 970.0)]
)
def test_a_start_that_is_planned_for_the_unknown_leaves_what_known_ones_do_if_they_come_late(
    at_s: float, longest_s: float
) -> None:
    assert find_longest_planned_run_s(Queue("workq", closed=(PRIME, OTHER, LAST)), at_s, 30.0) == longest_s
    assert find_longest_planned_run_s(Queue("workq", closed=(PRIME, OTHER)), at_s, 30.0) == UNLIMITED_S


@pytest.mark.parametrize(
    ("estimate_s", "begins"),
    [(UNLIMITED_S, "it has no walltime, and jobs of"), (7200.0, "its estimate of 02:00:00 is")],
)
def test_the_sentence_names_the_longest(estimate_s: float, begins: str) -> None:
    why = explain_too_long(Job("1", "alice", Request.of_cores(1), "workq", 0.0, estimate_s), 3600.0)
    assert why.startswith(begins)
    assert why.endswith("no start in the coming days leaves more than 01:00:00")
