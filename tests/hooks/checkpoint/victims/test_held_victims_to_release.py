"""When a held victim is let go: always, but while the job it made room for can still start on what it freed."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.checkpoint.victims.held_victims_to_release import find_hold_comments, find_to_release
from hooks.pbs.job_attributes.job_comment_format import show_moment
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from policy.model.allocation import parse_exec_vnode
from policy.model.ledger_between_passes import Earmark
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status, snapshot_of

WAIT_S = 600
AT_S = int(NOW_S)
HOLD = Earmark(parse_exec_vnode("(v1:ncpus=2)"), ("1.s",), NOW_S)


def held(beneficiary: str = "2.s", asked_s: int = AT_S, **more: str) -> dict[str, str]:
    mark = Mark(beneficiary, "requeue", asked_s, asked_s + 60, held=True)
    return job("H") | {"Hold_Types": "s", **more, MARK_KEY: show_marks({None: mark})}


def released(jobs: Any, holds: Any = (), queues: Any = ("workq",)) -> list[tuple[str, str]]:
    return find_to_release(server_status(jobs), dict.fromkeys(holds, HOLD), queues, WAIT_S)


def test_a_victim_is_held_as_long_as_its_beneficiary_waits() -> None:
    long_ago = AT_S - 10_000
    assert released({"1.s": held(), "2.s": job()}) == []
    assert released({"1.s": held(asked_s=long_ago), "2.s": job()}, holds=["2.s"]) == []
    assert released({"1.s": held("8[3].s"), "8[].s": job("B", array_indices_remaining="2-4")}) == []


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"2.s": running()}, "2.s runs"),
        ({}, "2.s is gone"),
        ({"2.s": job("H")}, "2.s cannot start"),
        ({"2.s": job("W")}, "2.s cannot start"),
    ],
)
def test_a_victim_is_let_go_when_its_beneficiary_needs_it_no_more(others: Any, why: str) -> None:
    assert released({"1.s": held(), **others}, holds=["2.s"]) == [("1.s", why)]


@pytest.mark.parametrize("others", [{}, {"8[].s": job("B", array_indices_remaining="4-5")}])
def test_a_subjob_that_waits_no_more_is_gone(others: Any) -> None:
    assert released({"1.s": held("8[3].s"), **others}) == [("1.s", "8[3].s is gone")]


def test_a_subjob_that_runs_needs_it_no_more() -> None:
    jobs = {"1.s": held("8[3].s"), "8[].s": job("B", array_indices_remaining="4"), "8[3].s": running()}
    assert released(jobs) == [("1.s", "8[3].s runs")]


@pytest.mark.parametrize("asked_s", [AT_S - 60 - WAIT_S - 1, AT_S + 1])
def test_a_beneficiary_that_nobody_holds_for_is_not_waited_for_without_end(asked_s: int) -> None:
    assert released({"1.s": held(asked_s=asked_s), "2.s": job()}) == [("1.s", "2.s did not start")]


def test_a_victim_that_a_newer_version_holds_is_let_go_too() -> None:
    texts = held()
    texts[MARK_KEY] += " by=policy"
    assert released({"1.s": texts}) == released({"1.s": held()}) != []


def test_a_queue_that_nobody_acts_for_holds_nobody() -> None:
    assert released({"1.s": held(), "2.s": job()}, queues=()) == [("1.s", "pbsteer does not act in its queue")]


def test_somebody_elses_hold_is_left_alone() -> None:
    assert released({"1.s": job("H", Hold_Types="s"), "3.s": job("H", Hold_Types="u")}) == []


def test_a_hold_that_somebody_took_off_is_noted_as_over() -> None:
    assert released({"1.s": held(Hold_Types="u"), "2.s": job()}) == [("1.s", "its hold was released by hand")]


def test_its_reason_says_for_whom_it_waits() -> None:
    snapshot = snapshot_of(server_status({"1.s": held(), "3.s": held(Hold_Types="us")}), Settings())
    assert snapshot.jobs["1.s"].blocked == "it made room for 2.s and is held until that runs"
    assert (
        snapshot.jobs["3.s"].blocked == "it is held by its owner and a manager or the system: releasing it lets it run"
    )


def comments(jobs: Any, **more: Any) -> dict[str, str]:
    return find_hold_comments(server_status(jobs), **{"left_out": (), "queues": ("workq",), "wait_s": WAIT_S, **more})


def test_the_comment_of_a_held_victim_says_whom_for_and_until_when() -> None:
    jobs = {"1.s": held(), "2.s": job(), "3.s": job("H", Hold_Types="s")}
    written = comments(jobs)
    assert written.keys() == {"1.s"}
    latest = show_moment(AT_S + 60 + WAIT_S, NOW_S)
    assert f": made room for 2: held until that runs, released at the latest {latest} (" in written["1.s"]
    assert comments({**jobs, "1.s": {**jobs["1.s"], "comment": written["1.s"]}}) == {}
    assert comments(jobs, left_out=["1.s"]) == comments(jobs, queues=["other"]) == {}
    assert comments({"1.s": held() | running()}) == {}


def test_a_time_that_is_past_is_not_told() -> None:
    (written,) = comments({"1.s": held(asked_s=AT_S - 10_000), "2.s": job()}).values()
    assert "held until that runs (" in written


def test_an_array_that_is_held_for_a_subjob_has_such_a_comment() -> None:
    (written,) = comments({"8[].s": held() | {"job_state": "B"}, "2.s": job()}).values()
    assert "made room for 2: held" in written
