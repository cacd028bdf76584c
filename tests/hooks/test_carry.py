"""A plan carried out: only for the queues that are ours, refusals recorded, comments written only when they change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hooks.carry import Budget, Effects, carry_out
from hooks.ifl import Connection
from hooks.picture import Picture
from hooks.translate import snapshot_of
from policy.ledger import Ledger
from policy.placement import parse_exec_vnode
from policy.plan import Plan, Preempt, Start, Wait
from policy.reasons import Reason
from policy.settings import Settings
from tests.hooks.pictures import NOW_S, job, picture, queue, running
from tests.hooks.stand_in import pbs_ifl

IDLE_4 = Reason("too-few-idle", (("idle", 4),))
PREEMPTED = Reason(
    "preempted-quota", (("beneficiary", "2.s"), ("entity", "alice"), ("used", 8), ("limit", 4), ("queue", "w"))
)


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    yield


def make_plan(seen: Picture, starts: Any = (), preempts: Any = (), waits: Any = ()) -> Plan:
    """A plan from ids: starts as (id, place), preempts as (victim, beneficiary), waits as (reason, ids)."""
    snapshot = snapshot_of(seen, Settings())
    jobs, runs = snapshot.jobs, snapshot.runs
    return Plan(
        seen.time_s,
        tuple(Start(job_id, jobs[job_id], parse_exec_vnode(place)) for job_id, place in starts),
        tuple(Preempt(runs[victim], beneficiary, PREEMPTED) for victim, beneficiary in preempts),
        (),
        tuple(Wait(reason, [jobs[job_id] for job_id in ids]) for reason, ids in waits),
        Ledger(),
        snapshot,
    )


def carry(plan: Plan, seen: Picture, queues: tuple[str, ...] = ("workq",), seconds: float = 10) -> Effects:
    with Connection(pbs_ifl) as connection:
        return carry_out(
            plan,
            seen,
            queues,
            pbs_ifl=pbs_ifl,
            connection=connection,
            budget=Budget(seconds),
            release=lambda: None,
        )


def done() -> list[list[str]]:
    return [call for call in pbs_ifl.CALLS if call[0] not in ("connect", "disconnect")]


def comments() -> list[str]:
    return [call[3] for call in done() if call[0] == "alter"]


def test_victims_go_before_starts() -> None:
    seen = picture({"1.s": running(), "2.s": job(), "3.s": job()})
    effects = carry(make_plan(seen, [("3.s", "(v2:ncpus=2)")], [("1.s", "2.s")]), seen)
    assert done() == [["requeue", "1.s"], ["start", "3.s", "(v2:ncpus=2)"]]
    assert (effects.started, effects.requeued, effects.failures) == (["3.s"], ["1.s"], [])


def test_other_queues_are_left_alone() -> None:
    queues = {"workq": queue("drive"), "other": queue("observe")}
    seen = picture({"1.s": running(), "2.s": job(queue="other"), "3.s": job()}, queues=queues)
    plan = make_plan(seen, [("2.s", "(v2:ncpus=2)")], [("1.s", "2.s")], [(IDLE_4, ["2.s"])])
    carry(plan, seen)
    assert done() == []


def test_without_queues_nothing_is_done() -> None:
    seen = picture({"2.s": job()})
    assert carry(make_plan(seen, [("2.s", "(v2:ncpus=2)")], [], [(IDLE_4, ["2.s"])]), seen, ()) == Effects()
    assert done() == []


def test_a_refusal_is_recorded_and_the_rest_goes_on() -> None:
    pbs_ifl.REFUSALS.update({"1.s": "no", "2.s": "vnode v1 has ncpus=8"})
    seen = picture({"1.s": running(), "2.s": job(), "3.s": job(), "4.s": job()})
    plan = make_plan(seen, [("2.s", "(v1:ncpus=2)"), ("3.s", "(v2:ncpus=2)")], [("1.s", "3.s")], [(IDLE_4, ["4.s"])])
    effects = carry(plan, seen)
    assert (effects.started, effects.requeued, effects.comments) == (["3.s"], [], 1)
    assert [f"cannot {what}" in " ".join(effects.failures) for what in ("start 2.s", "requeue 1.s")] == [True, True]


def test_what_there_is_no_time_for_is_put_off() -> None:
    seen = picture({"2.s": job(), "3.s": job()})
    effects = carry(make_plan(seen, [("2.s", "(v1:ncpus=2)")], [], [(IDLE_4, ["3.s"])]), seen, seconds=0)
    assert (done(), effects.put_off) == ([], 2)


def test_a_comment_says_why_the_job_waits_and_when_that_was() -> None:
    seen = picture({"3.s": job()})
    carry(make_plan(seen, waits=[(IDLE_4, ["3.s"])]), seen)
    (comment,) = comments()
    assert comment.startswith("pbsteer 2026-11-20 ")
    assert comment.endswith(": needs 2 cores: 4 are idle")


def test_a_comment_that_says_the_same_is_not_written_again() -> None:
    seen = picture({"3.s": job()})
    plan = make_plan(seen, waits=[(IDLE_4, ["3.s"])])
    carry(plan, seen)
    (comment,) = comments()
    for later_s, numbers, written in ((0, 4, 1), (60, 4, 1), (60, 3, 1), (3600, 4, 1), (3600, 3, 2)):
        reason = Reason("too-few-idle", (("idle", numbers),))
        again = picture({"3.s": job(comment=comment)})
        again = Picture.from_data({**again.to_data(), "time_s": NOW_S + later_s})
        carry(make_plan(again, waits=[(reason, ["3.s"])]), again)
        assert len(comments()) == written, (later_s, numbers)


@pytest.mark.parametrize(
    "old",
    [
        "",
        "Not Running: no",
        "pbsteer yesterday: needs",
        "pbsteer 2026-11-20 10:00: waits",
        "pbsteer 9999-99-99 99:99: x",
    ],
)
def test_a_comment_that_says_something_else_is_replaced(old: str) -> None:
    seen = picture({"3.s": job(comment=old)})
    carry(make_plan(seen, waits=[(IDLE_4, ["3.s"])]), seen)
    assert len(comments()) == 1
