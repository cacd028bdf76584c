"""How much of what a job holds it uses, and when that is said to be little."""

from __future__ import annotations

import pytest

from tui.model.job_efficiency import Shares, ends_for_long, is_overdue, mean_share, shares_of

ASKED = {
    "Resource_List.ncpus": "4",
    "Resource_List.mem": "8gb",
    "Resource_List.ngpus": "2",
    "Resource_List.walltime": "02:00:00",
}


def used(**texts: str) -> dict[str, str]:
    return {f"resources_used.{name}": text for name, text in texts.items()}


def test_shares_of_cores_memory_and_gpus() -> None:
    shares = shares_of(ASKED, used(cput="02:00:00", walltime="01:00:00", mem="2097152kb", gpupercent="50"))
    assert shares.cpu == 0.5
    assert shares.memory == 0.25
    assert shares.gpu == 0.25
    assert shares.idle_cores == 2.0


@pytest.mark.parametrize("texts", [{}, {"cput": "x", "walltime": "y", "mem": "z"}, {"cput": "01:00:00"}])
def test_without_figures_nothing_is_claimed(texts: dict[str, str]) -> None:
    shares = shares_of(ASKED, used(**texts))
    assert (shares.cpu, shares.memory, shares.gpu, shares.is_idle) == (None, None, None, False)


def test_a_job_is_idle_only_after_it_has_run_for_a_while() -> None:
    assert not shares_of(ASKED, used(cput="00:01:00", walltime="00:20:00")).is_idle
    assert shares_of(ASKED, used(cput="00:02:00", walltime="00:40:00")).is_idle
    assert not shares_of(ASKED, used(cput="01:20:00", walltime="00:40:00")).is_idle


def test_the_mean_of_several_jobs_is_weighted_by_their_cores() -> None:
    wide = {**ASKED, "Resource_List.ncpus": "12"}
    busy, idle = used(cput="04:00:00", walltime="01:00:00"), used(cput="00:00:00", walltime="01:00:00")
    assert mean_share([(ASKED, busy), (wide, idle)]) == 0.25
    assert mean_share([(ASKED, {}), (wide, {})]) is None


def test_a_job_past_its_walltime_is_overdue_after_a_grace() -> None:
    assert not is_overdue(ASKED, used(walltime="02:05:00"))
    assert is_overdue(ASKED, used(walltime="02:15:00"))
    assert not is_overdue({}, used(walltime="02:15:00")), "without a walltime nothing is over"


def test_no_shares_are_not_idle() -> None:
    assert not Shares().is_idle


def test_a_job_that_still_ends_after_its_walltime_ends_for_long() -> None:
    ending = {"job_state": "E", "stime": "1000", "Resource_List.walltime": "01:00:00"}
    assert not ends_for_long(ending, 1000 + 3600 + 599)
    assert ends_for_long(ending, 1000 + 3600 + 601)
    assert not ends_for_long({**ending, "job_state": "R"}, 1e9)
    assert not ends_for_long({"job_state": "E", "stime": "1000"}, 1e9), "without a walltime nothing is over"
