"""How long a job waits at a target before it goes back, and how long a cluster that failed is left alone."""

from dataclasses import replace
from typing import Any

import pytest

from policy.migration.job_record_and_copy_updates import Record
from policy.migration.wait_and_retry_bounds import WaitSettings, goes_back, is_asked, is_early_pass_due, pause_s

WAITS = Record(gid="a.1", src="a", dst="b", state="Submitted", localid="7")


def test_a_job_that_waits_too_long_unstarted_goes_back() -> None:
    assert goes_back(WAITS, 3600, WaitSettings())
    assert not goes_back(WAITS, 3599, WaitSettings())


@pytest.mark.parametrize(
    "change",
    [
        {"ran": 1}, {"state": "Making"}, {"want": "b"}, {"attempt": 3}, {"stop": "keep"}, {"dst": "a"},
    ],
)  # fmt: skip
def test_and_never_once_it_has_run_or_was_wanted_there_or_after_the_last_attempt(change: dict[str, Any]) -> None:
    assert not goes_back(replace(WAITS, **change), 1e9, WaitSettings())


def test_zero_never_gives_back() -> None:
    assert not goes_back(WAITS, 1e9, WaitSettings(max_remote_wait_s=0))


def test_pauses_double_up_to_half_an_hour() -> None:
    assert [pause_s(tries) // 60 for tries in (0, 1, 2, 3, 4, 5, 6, 7, 99)] == [1, 1, 2, 4, 8, 16, 30, 30, 30]


def test_a_cluster_that_failed_three_times_is_asked_every_tenth_pass() -> None:
    assert is_asked(2, 7)
    assert [number for number in range(1, 31) if is_asked(3, number)] == [10, 20, 30]


def test_an_early_pass_is_due_for_a_minute_after_a_hand_over_while_a_target_is_busy_for_now() -> None:
    assert [is_early_pass_due(True, since_s) for since_s in (0, 59, 60, 10**9, -1)] == [True, True, False, False, False]
    assert not is_early_pass_due(False, 0)
