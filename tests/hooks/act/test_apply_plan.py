"""A plan carried out: only for the queues that are ours, refusals recorded, comments written only when they change."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from hooks.act.apply_plan import Outcome, Permissions
from hooks.act.start_jobs import find_new_chunks
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.allocation import parse_exec_vnode
from policy.plan.plan_types import Preempt, Start
from policy.reasons.reason import Reason
from tests.hooks.act.carry_out_plan import DRIVING, IDLE_4, PREEMPTED, SAVING, carry, done, make_plan
from tests.hooks.sample_server_statuses import NOW_S, job, queue, running, server_status
from tests.hooks.stand_in import pbs_ifl


def comments() -> list[str]:
    return [call[3] for call in done() if call[0] == "alter"]


def test_victims_go_before_starts() -> None:
    seen = server_status({"1.s": running(), "2.s": job(), "3.s": job()})
    outcome = carry(make_plan(seen, [("3.s", "(v2:ncpus=2)")], [("1.s", "2.s")]), seen)
    assert done() == [["requeue", "1.s"], ["start", "3.s", "(v2:ncpus=2)"]]
    assert (outcome.started, outcome.requeued, outcome.failures) == (["3.s"], ["1.s"], [])


def test_a_victim_that_has_gone_meanwhile_is_none_that_was_asked() -> None:
    seen = server_status({"1.s": running(), "2.s": job()})
    plan = make_plan(seen, [], [("1.s", "2.s")])
    since = replace(seen, jobs={**seen.jobs, "1.s": running(comment="Job run at noon and terminated by alice@login")})
    outcome = carry(plan, seen, since=since)
    assert (done(), outcome.requeued, outcome.failures) == ([], [], [])


def test_a_job_that_is_cut_into_pieces_asks_for_these_before_it_starts() -> None:
    """PBS writes the node file by what the job asks for: one chunk of four would put all ranks on the first vnode."""
    seen = server_status({"2.s": job(cores=4, Resource_List__select="1:ncpus=4:mem=4gb:mpiprocs=4")})
    place = "(v1:mem=1048576kb:ncpus=1)+" * 2 + "(v2:mem=1048576kb:ncpus=1)+" * 2
    carry(make_plan(seen, [("2.s", place.rstrip("+"))]), seen)
    assert done() == [
        [
            *["alter", "2.s", "Resource_List.select", "4:mem=1048576kb:ncpus=1:mpiprocs=1"],
            *["Resource_List.pbsteer_asked", "1:mem=4194304kb:ncpus=4:mpiprocs=4"],
        ],
        ["start", "2.s", place.rstrip("+")],
    ]


CUT = {
    "Resource_List.select": "4:ncpus=1:mpiprocs=1",
    "schedselect": "4:ncpus=1:mpiprocs=1",
    "Resource_List.pbsteer_asked": "1:ncpus=4:mpiprocs=4",
}
STRIPED = {**CUT, "Resource_List.select": "2:ncpus=2:mpiprocs=2:ompthreads=1", "Resource_List.place": "scatter:shared"}


@pytest.mark.parametrize(
    ("texts", "place", "changes"),
    [
        (CUT, "(v1:ncpus=4)", {"select": "1:ncpus=4:mpiprocs=4", "place": "free", "pbsteer_asked": ""}),
        (CUT, "(v1:ncpus=1)+" * 3 + "(v2:ncpus=1)", {}),
        (STRIPED, "(v1:ncpus=4)", {"select": "1:ncpus=4:mpiprocs=4", "place": "free:shared", "pbsteer_asked": ""}),
        (
            STRIPED,
            "(v1:ncpus=1)+" * 3 + "(v2:ncpus=1)",
            {"select": "4:ncpus=1:mpiprocs=1", "place": "free:shared", "pbsteer_asked": "1:ncpus=4:mpiprocs=4"},
        ),
    ],
    ids=["cut-then-packed", "cut-again", "striped-then-packed", "striped-then-cut"],
)
def test_a_job_that_was_cut_before_starts_in_the_chunks_that_it_is_placed_in(
    texts: dict[str, str], place: str, changes: dict[str, str]
) -> None:
    seen = server_status({"2.s": {**job(cores=4), **texts}})
    plan = make_plan(seen, [("2.s", place.rstrip("+"))])
    assert plan.starts[0].job.request.select == "1:ncpus=4:mpiprocs=4"
    assert find_new_chunks(plan.starts[0], seen.jobs["2.s"]) == changes


def test_an_array_is_cut_into_pieces_once_for_all_its_subjobs() -> None:
    asked = "1:ncpus=2:mpiprocs=2"
    seen = server_status({"8[].s": job(cores=2, Resource_List__select=asked, array_indices_remaining="1-2")})
    plan = make_plan(seen)
    array = plan.started.jobs["8[].s"]
    place = parse_exec_vnode("(v1:ncpus=1)+(v2:ncpus=1)")
    carry(plan._replace(starts=tuple(Start(f"8[{n}].s", array, place, subjob=n) for n in (1, 2))), seen)
    assert [call[:2] for call in done()] == [["alter", "8[].s"], ["start", "8[1].s"], ["start", "8[2].s"]]


@pytest.mark.parametrize("select", ["1:ncpus=4:mpiprocs=4", "2:ncpus=2:mpiprocs=2", "4:ncpus=1", "1:ncpus=4"])
def test_a_job_in_the_chunks_it_asks_for_is_left_as_it_is(select: str) -> None:
    seen = server_status({"2.s": job(cores=4, Resource_List__select=select)})
    chunks = int(select[0])
    place = "+".join([f"(v1:ncpus={4 // chunks})"] * chunks)
    carry(make_plan(seen, [("2.s", place)]), seen)
    assert done() == [["start", "2.s", place]]


def test_a_job_that_may_not_ask_for_other_chunks_is_not_started() -> None:
    pbs_ifl.REFUSALS["2.s"] = "Cannot modify attribute while job running"
    seen = server_status({"2.s": job(cores=2, Resource_List__select="1:ncpus=2:mpiprocs=2")})
    outcome = carry(make_plan(seen, [("2.s", "(v1:ncpus=1)+(v2:ncpus=1)")]), seen)
    assert (outcome.started, [call[0] for call in done()]) == ([], ["alter"])
    assert "cannot set the select and pbsteer_asked of 2.s" in outcome.failures[0]


@pytest.mark.parametrize(
    "reason",
    [
        PREEMPTED,
        Reason("preempted-class", (("beneficiary", "2.s"), ("above", 5), ("class", -1))),
        Reason("cut-for-promise", (("beneficiary", "2.s"),)),
        Reason("cut-for-rescue", (("beneficiary", "2.s"), ("left_s", 9000.0))),
    ],
    ids=lambda reason: reason.code,
)
def test_whichever_rule_chose_a_victim_it_is_requeued(reason: Reason) -> None:
    seen = server_status({"1.s": running(), "2.s": job()})
    plan = make_plan(seen)
    carry(plan._replace(preempts=(Preempt(plan.started.runs["1.s"], "2.s", reason),)), seen)
    assert done() == [["requeue", "1.s"]]


def test_other_queues_are_left_alone() -> None:
    queues = {"workq": queue("drive"), "other": queue("observe")}
    seen = server_status({"1.s": running(), "2.s": job(queue="other"), "3.s": job()}, queues=queues)
    plan = make_plan(seen, [("2.s", "(v2:ncpus=2)")], [("1.s", "2.s")], [(IDLE_4, ["2.s"])])
    carry(plan, seen)
    assert done() == []


def test_without_queues_nothing_is_done() -> None:
    seen = server_status({"2.s": job()})
    assert carry(make_plan(seen, [("2.s", "(v2:ncpus=2)")], [], [(IDLE_4, ["2.s"])]), seen, Permissions()) == Outcome()
    assert done() == []


def test_in_a_pause_nothing_is_done_but_comments_written() -> None:
    seen = server_status({"1.s": running(), "2.s": job(), "3.s": job()})
    plan = make_plan(seen, [("3.s", "(v2:ncpus=2)")], [("1.s", "2.s")], [(IDLE_4, ["2.s"])])
    outcome = carry(plan, seen, Permissions(kept_back=frozenset({"workq"}), pause="pbsteer is paused (water)"))
    assert (outcome.comments, outcome.started, outcome.requeued, outcome.put_off) == (2, [], [], 0)
    assert [call[:2] for call in done()] == [["alter", "3.s"], ["alter", "2.s"]]


def test_where_only_preemption_is_ours_nothing_is_started_and_no_comment_written() -> None:
    seen = server_status({"1.s": running(), "2.s": job(), "3.s": job()})
    plan = make_plan(seen, [("3.s", "(v2:ncpus=2)")], [("1.s", "2.s")], [(IDLE_4, ["2.s"])])
    outcome = carry(plan, seen, Permissions(preempt=frozenset({"workq"})))
    assert [[*call[:3], *call[4:]] for call in done()] == [
        ["alter", "1.s", "estimated.site", "Hold_Types", "s"],
        ["requeue", "1.s"],
    ]
    assert (outcome.started, outcome.requeued, outcome.comments) == ([], ["1.s"], 0)


def test_no_run_is_preempted_for_those_who_would_not_get_the_cores() -> None:
    seen = server_status({"1.s": running(), "2.s": job()})
    carry(make_plan(seen, [], [("1.s", "2.s")]), seen, DRIVING._replace(not_for=frozenset({"2.s"})))
    assert done() == []


def test_a_refusal_is_recorded_and_the_rest_goes_on() -> None:
    pbs_ifl.REFUSALS.update({"1.s": "no", "2.s": "vnode v1 has ncpus=8"})
    seen = server_status({"1.s": running(), "2.s": job(), "3.s": job(), "4.s": job()})
    plan = make_plan(seen, [("2.s", "(v1:ncpus=2)"), ("3.s", "(v2:ncpus=2)")], [("1.s", "3.s")], [(IDLE_4, ["4.s"])])
    outcome = carry(plan, seen)
    assert (outcome.started, outcome.requeued, outcome.comments) == (["3.s"], [], 1)
    assert [f"cannot {what}" in " ".join(outcome.failures) for what in ("start 2.s", "requeue 1.s")] == [True, True]
    assert "cannot start 2.s on (v1:ncpus=2): vnode v1 has ncpus=8" in outcome.failures


def test_among_many_starts_each_one_that_was_refused_is_known_by_what_the_server_says() -> None:
    """Most are not waited for: what became of them is read afterwards, all at once."""
    ids = [f"{number}.s" for number in range(1, 41)]
    seen = server_status({job_id: job(cores=1) for job_id in ids})
    refused = {job_id: f"no room for {job_id}" for job_id in ("1.s", "7.s", "16.s", "32.s", "40.s")}
    pbs_ifl.REFUSALS.update(refused)
    outcome = carry(make_plan(seen, [(job_id, "(v1:ncpus=1)") for job_id in ids]), seen)
    assert [call[1] for call in done()] == ids
    assert outcome.started == [job_id for job_id in ids if job_id not in refused]
    said = {f"cannot start {job_id} on (v1:ncpus=1): {why}" for job_id, why in refused.items()}
    assert {failure.partition(" (15004)")[0] for failure in outcome.failures} == said


def test_a_job_that_has_ended_meanwhile_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def end_at_once(handle: int, job_id: str, exec_vnode: str, extend: str | None) -> int:
        del pbs_ifl.WORLD["jobs"][job_id]
        return 0

    monkeypatch.setattr(pbs_ifl, "pbs_asyrunjob", end_at_once)
    seen = server_status({"2.s": job(), "3.s": job()})
    outcome = carry(make_plan(seen, [("2.s", "(v1:ncpus=2)"), ("3.s", "(v2:ncpus=2)")]), seen)
    assert (outcome.started, outcome.failures) == (["2.s", "3.s"], [])


def test_a_server_that_says_of_each_start_whether_it_takes_it_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers before 2022 do not."""
    monkeypatch.delattr(pbs_ifl, "pbs_asyrunjob_ack")
    ids = [f"{number}.s" for number in range(1, 41)]
    seen = server_status({job_id: job(cores=1) for job_id in ids})
    pbs_ifl.REFUSALS["16.s"] = "no"
    outcome = carry(make_plan(seen, [(job_id, "(v1:ncpus=1)") for job_id in ids]), seen)
    assert outcome.started == [job_id for job_id in ids if job_id != "16.s"]
    assert outcome.failures == ["cannot start 16.s on (v1:ncpus=1): no"]


def test_where_the_server_cannot_be_asked_what_became_of_starts_that_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def break_off(handle: int, name: str | None, names: object, extend: str | None) -> None:
        pbs_ifl._error[:] = [15031, None]

    monkeypatch.setattr(pbs_ifl, "pbs_statjob", break_off)
    seen = server_status({"2.s": job()})
    outcome = carry(make_plan(seen, [("2.s", "(v1:ncpus=2)")]), seen)
    assert (outcome.started, outcome.failures) == (["2.s"], ["cannot read the jobs: error 15031"])


def test_what_there_is_no_time_for_is_put_off() -> None:
    seen = server_status({"2.s": job(), "3.s": job()})
    outcome = carry(make_plan(seen, [("2.s", "(v1:ncpus=2)")], [], [(IDLE_4, ["3.s"])]), seen, seconds=0)
    assert (done(), outcome.put_off) == ([], 2)


def test_a_comment_says_why_the_job_waits_and_when_that_was() -> None:
    seen = server_status({"3.s": job()})
    carry(make_plan(seen, waits=[(IDLE_4, ["3.s"])]), seen)
    (comment,) = comments()
    assert re.match(r"Nov (20|21) \d\d:\d\d: needs 2 cores: 4 are idle", comment)
    assert " (pbsteer 2026-11-20 " in comment


def test_a_comment_that_says_the_same_is_not_written_again() -> None:
    seen = server_status({"3.s": job()})
    plan = make_plan(seen, waits=[(IDLE_4, ["3.s"])])
    carry(plan, seen)
    (comment,) = comments()
    for later_s, numbers, written in ((0, 4, 1), (60, 4, 1), (60, 3, 1), (3600, 4, 1), (180, 3, 2)):
        reason = Reason("too-few-idle", (("idle", numbers),))
        again = server_status({"3.s": job(comment=comment)})
        again = ServerStatus.from_data({**again.to_data(), "time_s": NOW_S + later_s})
        carry(make_plan(again, waits=[(reason, ["3.s"])]), again)
        assert len(comments()) == written, (later_s, numbers)


@pytest.mark.parametrize(
    "old",
    [
        "",
        "Not Running: no",
        "needs (pbsteer yesterday)",
        "waits (pbsteer 2026-11-20 10:00)",
        "x (pbsteer 9999-99-99 99:99)",
    ],
)
def test_a_comment_that_says_something_else_is_replaced(old: str) -> None:
    seen = server_status({"3.s": job(comment=old)})
    carry(make_plan(seen, waits=[(IDLE_4, ["3.s"])]), seen)
    assert len(comments()) == 1


def test_a_victim_is_marked_before_it_is_asked() -> None:
    seen = server_status({"1.s": running(), "2.s": job()})
    outcome = carry(make_plan(seen, [], [("1.s", "2.s")]), seen, settings=SAVING)
    assert [call[:3] for call in done()] == [["alter", "1.s", MARK_KEY], ["signal", "1.s", "USR2"]]
    assert (outcome.asked, outcome.requeued) == (["1.s"], [])


def test_nobody_is_asked_who_could_not_be_marked() -> None:
    seen = server_status({"1.s": running(), "2.s": job()})
    pbs_ifl.REFUSALS["1.s"] = "no"
    outcome = carry(make_plan(seen, [], [("1.s", "2.s")]), seen, settings=SAVING)
    assert [call[0] for call in done()] == ["alter"]
    assert (outcome.asked, len(outcome.failures)) == ([], 1)


@pytest.mark.parametrize("permissions", [DRIVING, Permissions(preempt=DRIVING.preempt), Permissions()])
def test_a_held_victim_is_let_go_in_every_mode(permissions: Permissions) -> None:
    mark = Mark("2.s", "requeue", int(NOW_S), int(NOW_S), held=True)
    held = job("H", Hold_Types="s") | {MARK_KEY: show_marks({None: mark})}
    seen = server_status({"1.s": held, "2.s": running()})
    assert list(carry(make_plan(seen), seen, permissions).released) == ["1.s"]
    assert done()[:2] == [["release", "1.s", "s"], ["alter", "1.s", MARK_KEY, ""]]
