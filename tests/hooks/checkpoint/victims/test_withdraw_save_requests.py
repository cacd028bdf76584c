"""Requests to save that are withdrawn: the victim's time ends at once where its cores are not needed any more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.checkpoint.victims.withdraw_save_requests import CANNOT_START, GIVEN_UP, GONE, RUNS, find_withdrawn
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks, show_marks
from tests.hooks.sample_server_statuses import job, running, server_status

NOW_S = 1010
MARK = Mark("9.s", "signal", 1000, 1060)
VICTIM = running(stime="900") | {MARK_KEY: show_marks({None: MARK})}


def withdrawn(
    *, beneficiary: dict[str, str] | None, victims: tuple[str, ...] = ("1.s",), acted: bool = True,
    victim: dict[str, str] = VICTIM, now_s: float = NOW_S,
) -> str:  # fmt: skip
    """The reason for the one victim; that its time ends now is looked at."""
    jobs = {"1.s": victim} | ({"9.s": beneficiary} if beneficiary is not None else {})
    found = find_withdrawn(replace(server_status(jobs), time_s=now_s), victims, {"workq"} if acted else ())
    if not found:
        return ""
    ((job_id, (text, reasons)),) = found.items()
    assert (job_id, list(reasons)) == ("1.s", ["1.s"])
    mark = read_marks({MARK_KEY: text})[None]
    assert mark == MARK._replace(until_s=int(now_s), why=reasons["1.s"], held=mark.held)
    return reasons["1.s"]


@pytest.mark.parametrize("acted", [True, False])
@pytest.mark.parametrize(
    ("beneficiary", "why"),
    [(None, GONE), (running(), RUNS), (job("H"), CANNOT_START), (job("W"), CANNOT_START), (job("Q"), "")],
)
def test_a_request_is_withdrawn_where_its_beneficiary_needs_no_cores(
    beneficiary: dict[str, str] | None, why: str, acted: bool
) -> None:
    assert withdrawn(beneficiary=beneficiary, acted=acted) == why


@pytest.mark.parametrize(("acted", "why"), [(True, GIVEN_UP), (False, "")])
def test_a_request_is_withdrawn_where_the_plan_wants_it_no_more_and_that_is_known(acted: bool, why: str) -> None:
    assert withdrawn(beneficiary=job("Q"), victims=(), acted=acted) == why


@pytest.mark.parametrize(
    "mark",
    [
        MARK._replace(how="checkpoint"), MARK._replace(how="requeue"), MARK._replace(until_s=NOW_S),
        MARK._replace(beneficiary=""), MARK._replace(asked_s=NOW_S + 5), MARK._replace(asked_s=800),
    ],
)  # fmt: skip
def test_what_is_no_request_of_this_run_with_time_left_stays(mark: Mark) -> None:
    victim = running(stime="900") | {MARK_KEY: show_marks({None: mark})}
    assert withdrawn(beneficiary=None, victim=victim) == ""


def test_that_it_is_held_stays_for_whoever_releases_it() -> None:
    victim = running(stime="900") | {MARK_KEY: show_marks({None: MARK._replace(held=True)})}
    assert withdrawn(beneficiary=None, victim=victim) == GONE


def test_of_an_array_the_subjob_is_withdrawn_whose_beneficiary_is_gone() -> None:
    marks: dict[int | None, Mark] = {3: MARK, 4: MARK._replace(beneficiary="7.s")}
    jobs = {
        "8[].s": job("B") | {MARK_KEY: show_marks(marks)},
        "8[3].s": running(stime="900"),
        "8[4].s": running(stime="900"),
        "7.s": job("Q"),
    }
    found = find_withdrawn(replace(server_status(jobs), time_s=NOW_S), {"8[3].s", "8[4].s"}, {"workq"})
    text, reasons = found["8[].s"]
    assert reasons == {"8[3].s": GONE}
    assert read_marks({MARK_KEY: text}) == {3: MARK._replace(until_s=NOW_S, why=GONE), 4: marks[4]}


def test_a_beneficiary_that_is_a_subjob_is_gone_when_its_array_has_it_no_more() -> None:
    victim = running(stime="900") | {MARK_KEY: show_marks({None: MARK._replace(beneficiary="8[3].s")})}
    for left, gone in (("3-5", False), ("4-5", True)):
        jobs = {"1.s": victim, "8[].s": job("B") | {"array_indices_remaining": left}}
        found = find_withdrawn(replace(server_status(jobs), time_s=NOW_S), {"1.s"}, {"workq"})
        assert bool(found) is gone
