"""Victims asked side by side: each by its method, in its order, and only in the run that was meant."""

from __future__ import annotations

import time
import types
from collections.abc import Iterator

import pytest

from hooks.checkpoint.save_method.read_save_method_job_asked_for import CHECKPOINT, REQUEUE, SIGNAL
from hooks.checkpoint.victims import victim_requests_in_parallel as requeue
from hooks.checkpoint.victims.plan_victim_requests import VictimRequest
from hooks.checkpoint.victims.victim_requests_in_parallel import VictimRequests, split_requests
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from tests.hooks.sample_server_statuses import job, running, server_status
from tests.hooks.stand_in import pbs_ifl

START_S = float(running()["stime"])
SAVES = show_marks({None: Mark("9.server", "signal", int(START_S) + 10, int(START_S) + 70)})
HELD = show_marks({None: Mark("9.server", "checkpoint", 1000, 1060, held=True)})
VICTIMS = (VictimRequest("12.server", REQUEUE, start_s=START_S), VictimRequest("8[2].server", REQUEUE, start_s=START_S))


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.MOM_ANSWERS, pbs_ifl.WORLD):
        log.clear()
    pbs_ifl.WORLD.update(server_status({"12.server": running(), "8[2].server": running(1)}).to_data())
    yield


def test_victims_are_requeued_and_refusals_kept_by_victim() -> None:
    pbs_ifl.REFUSALS["8[2].server"] = "job is not rerunnable"
    victim_requests = VictimRequests(pbs_ifl, VICTIMS, lambda: None)
    victim_requests.wait(0)
    assert [call for call in pbs_ifl.CALLS if call[0] == "requeue"] == [
        ["requeue", "12.server"],
        ["requeue", "8[2].server"],
    ]
    assert list(victim_requests.failures) == ["8[2].server"]
    assert "not rerunnable" in victim_requests.failures["8[2].server"]


def test_a_victim_that_is_being_staged_in_is_requeued_by_force() -> None:
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(), "substate": "15"}
    VictimRequests(pbs_ifl, VICTIMS, lambda: None).wait(0)
    assert [call for call in pbs_ifl.CALLS if call[0] == "requeue"] == [
        ["requeue", "12.server", "force"],
        ["requeue", "8[2].server"],
    ]


LONG_AGO = str(int(time.time()) - 90)
USED = {"resources_used.walltime": "00:00:00"}
DELETED = {"comment": "Job run at Sun Nov 29 at 18:39 on (v1:ncpus=2) and terminated"}


@pytest.mark.parametrize(
    ("texts", "calls"),
    [
        ({"substate": "41"}, [["requeue", "12.server", "force"]]),
        ({"substate": "60"}, [["requeue", "12.server", "force"]]),
        ({"substate": "60", **USED}, [["requeue", "12.server"]]),
        ({"substate": "41", **DELETED}, [["requeue", "12.server", "force"], ["delete", "12.server"]]),
        ({"substate": "42", **DELETED}, [["requeue", "12.server", "force"], ["delete", "12.server"]]),
        ({"substate": "42", **DELETED, **USED}, []),
    ],
)
def test_a_run_whose_program_never_begins_is_requeued_by_force(texts: dict[str, str], calls: list[list[str]]) -> None:
    """PBS waits for such a run without end where its output goes to a FIFO that no program reads."""
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(), "stime": LONG_AGO, **texts}
    request = VictimRequest("12.server", "requeue", start_s=float(LONG_AGO), host="v1")
    VictimRequests(pbs_ifl, [request], lambda: None).wait(0)
    assert [call for call in pbs_ifl.CALLS if call[0] in ("requeue", "delete")] == calls


def test_victims_of_a_real_server_are_requeued_in_processes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pbs_ifl, "_pbs_ifl", None, raising=False)
    pbs_ifl.REFUSALS["8[2].server"] = "job is not rerunnable"
    victim_requests = VictimRequests(pbs_ifl, VICTIMS, lambda: None)
    victim_requests.wait(30)
    assert pbs_ifl.CALLS == []
    assert list(victim_requests.failures) == ["8[2].server"]


def test_each_victim_is_asked_by_its_method_and_who_has_to_save_before_who_only_ends() -> None:
    requests = [
        VictimRequest("8[2].server", REQUEUE, start_s=START_S),
        VictimRequest("2.server", CHECKPOINT, start_s=START_S),
        VictimRequest("1.server", SIGNAL, "USR2", START_S),
    ]
    pbs_ifl.WORLD["jobs"].update(
        {"1.server": {**running(), MARK_KEY: SAVES}, "2.server": {**running(), MARK_KEY: HELD}}
    )
    VictimRequests(pbs_ifl, requests, lambda: None).wait(0)
    assert [call for call in pbs_ifl.CALLS if call[0] in ("signal", "hold", "alter", "requeue")] == [
        ["signal", "1.server", "USR2"],
        ["hold", "2.server", "s"],
        ["requeue", "8[2].server"],
    ]


@pytest.mark.parametrize("mark", ["", HELD.removesuffix(" held")], ids=["none", "let go"])
def test_a_victim_released_before_its_request_is_not_checkpointed(mark: str) -> None:
    pbs_ifl.WORLD["jobs"]["2.server"] = {**running(), **({MARK_KEY: mark} if mark else {})}
    victim_requests = VictimRequests(pbs_ifl, [VictimRequest("2.server", CHECKPOINT, start_s=START_S)], lambda: None)
    victim_requests.wait(0)
    assert ([call for call in pbs_ifl.CALLS if call[0] == "hold"], victim_requests.failures) == ([], {})


@pytest.mark.parametrize("how", [CHECKPOINT, REQUEUE])
@pytest.mark.parametrize(
    "since",
    [{**running(), MARK_KEY: HELD.removesuffix(" held")}, running(stime=f"{START_S + 40:.0f}")],
    ids=["released", "another run"],
)
def test_a_host_that_answers_late_does_not_make_a_request_outlive_its_reason(
    monkeypatch: pytest.MonkeyPatch, how: str, since: dict[str, str]
) -> None:
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(substate="42"), MARK_KEY: HELD}
    answer = pbs_ifl.pbs_sigjob

    def answer_late(handle: int, job_id: str, name: str, extend: str | None) -> int:
        pbs_ifl.WORLD["jobs"]["12.server"] = since
        return answer(handle, job_id, name, extend)

    monkeypatch.setattr(pbs_ifl, "pbs_sigjob", answer_late)
    victim_requests = VictimRequests(pbs_ifl, [VictimRequest("12.server", how, "", START_S)], lambda: None)
    is_wanted = how == REQUEUE and since["stime"] == f"{START_S:.0f}"
    assert ([call[0] for call in acts()], victim_requests.failures) == (["requeue"] if is_wanted else [], {})


@pytest.mark.parametrize("refusal", ["", "15013 the script failed"])
@pytest.mark.parametrize(("mark", "releases"), [("", [["release", "12.server", "s"]]), (HELD, [])])
def test_a_checkpoints_hold_is_released_where_a_pass_was_faster(
    monkeypatch: pytest.MonkeyPatch, mark: str, releases: list[list[str]], refusal: str
) -> None:
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(), MARK_KEY: HELD}
    hold = pbs_ifl.pbs_holdjob

    def hold_late(handle: int, job_id: str, holds: str, extend: str | None) -> int:
        pbs_ifl.WORLD["jobs"]["12.server"] = {**running(), "Hold_Types": "s", **({MARK_KEY: mark} if mark else {})}
        if refusal:
            pbs_ifl.REFUSALS["12.server"] = refusal
        done = hold(handle, job_id, holds, extend)
        pbs_ifl.REFUSALS.clear()
        return done

    monkeypatch.setattr(pbs_ifl, "pbs_holdjob", hold_late)
    victim_requests = VictimRequests(pbs_ifl, [VictimRequest("12.server", CHECKPOINT, "", START_S)], lambda: None)
    assert [call for call in pbs_ifl.CALLS if call[0] == "release"] == releases
    assert list(victim_requests.failures) == (["12.server"] if refusal else [])


def test_who_waits_too_long_behind_slow_victims_is_not_asked_by_this_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([0.0, 1.0, requeue._LATEST_S + 1])
    monkeypatch.setattr(requeue, "time", types.SimpleNamespace(monotonic=lambda: next(seconds), time=time.time))
    victim_requests = VictimRequests(pbs_ifl, VICTIMS, lambda: None)
    assert [call for call in pbs_ifl.CALLS if call[0] == "requeue"] == [["requeue", "12.server"]]
    assert victim_requests.failures == {
        "8[2].server": "8[2].server got no request, as its host or those before it took too long"
    }


def acts() -> list[list[str]]:
    return [call for call in pbs_ifl.CALLS if call[0] in ("signal", "hold", "requeue")]


@pytest.mark.parametrize("how", [SIGNAL, CHECKPOINT, REQUEUE])
@pytest.mark.parametrize(
    "since",
    [
        running(stime=f"{START_S + 40:.0f}"),
        job(),
        job("H", stime=f"{START_S:.0f}"),
        running(comment="Job run at Sun Nov 22 at 07:00 on (v1:ncpus=2) and terminated by alice@login"),
        None,
    ],
    ids=["another run", "waits", "held", "deleted", "gone"],
)
def test_a_run_that_nobody_meant_is_let_alone(how: str, since: dict[str, str] | None) -> None:
    """Whose turn comes late may have gone, and been started again, meanwhile."""
    del pbs_ifl.WORLD["jobs"]["12.server"]
    if since is not None:
        pbs_ifl.WORLD["jobs"]["12.server"] = {**since, MARK_KEY: HELD}
    victim_requests = VictimRequests(pbs_ifl, [VictimRequest("12.server", how, "USR2", START_S)], lambda: None)
    assert (acts(), victim_requests.failures, victim_requests.skipped) == ([], {}, {"12.server"})


@pytest.mark.parametrize("how", [CHECKPOINT, REQUEUE])
@pytest.mark.parametrize("answer", [0, 15001, 15016, 15139], ids=["end sent again", "unknown", "epilogue", "finished"])
def test_a_run_that_has_ended_at_its_host_is_let_end(how: str, answer: int) -> None:
    """PBS would queue it again: the request comes before the MoM's word."""
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(substate="42"), MARK_KEY: HELD}
    pbs_ifl.MOM_ANSWERS["12.server"] = answer
    victim_requests = VictimRequests(pbs_ifl, [VictimRequest("12.server", how, "", START_S)], lambda: None)
    assert (acts(), victim_requests.failures, victim_requests.skipped) == ([], {}, {"12.server"})


@pytest.mark.parametrize("how", [CHECKPOINT, REQUEUE])
@pytest.mark.parametrize(
    ("substate", "answer"), [("42", 15013), ("42", 15010), ("41", 0)], ids=["runs", "no answer", "not at its host yet"]
)
def test_a_run_of_which_the_host_says_no_end_gets_its_request(how: str, substate: str, answer: int) -> None:
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(substate=substate), MARK_KEY: HELD}
    pbs_ifl.MOM_ANSWERS["12.server"] = answer
    VictimRequests(pbs_ifl, [VictimRequest("12.server", how, "", START_S)], lambda: None)
    assert [call[0] for call in acts()] == ["hold" if how == CHECKPOINT else "requeue"]


def test_a_child_tells_whom_it_let_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pbs_ifl, "_pbs_ifl", None, raising=False)
    del pbs_ifl.WORLD["jobs"]["12.server"]
    victim_requests = VictimRequests(pbs_ifl, VICTIMS, lambda: None)
    victim_requests.wait(30)
    assert (victim_requests.failures, victim_requests.skipped) == ({}, {"12.server"})


def test_one_child_for_each_host_asks_victims_to_save() -> None:
    saving = [VictimRequest(f"{n}.s", SIGNAL, "USR2", START_S, f"h{n % 3}") for n in range(30)]
    ending = [VictimRequest(f"{n}.s", REQUEUE, "", START_S, "h0") for n in range(30, 62)]
    shares = split_requests([*saving, *ending])
    assert sorted(request for share in shares for request in share) == sorted([*saving, *ending])
    assert [{each.host for each in share if each.how == SIGNAL} for share in shares[:4]] == [
        {"h0"}, {"h1"}, {"h2"}, set(),
    ]  # fmt: skip
    assert {sum(each.how == REQUEUE for each in share) for share in shares} == {2}


@pytest.mark.parametrize("hosts", [1, 16, 40])
def test_there_are_never_more_children_than_may_be(hosts: int) -> None:
    requests = [VictimRequest(f"{n}.s", CHECKPOINT, "", START_S, f"h{n % hosts}") for n in range(100)]
    shares = split_requests(requests)
    assert len(shares) == min(hosts, 16)
    assert all(shares)


@pytest.mark.parametrize(
    "mark",
    [
        {},
        {MARK_KEY: SAVES.replace("how=signal", "how=signal why=beneficiary-gone")},
        {MARK_KEY: show_marks({None: Mark("9.server", "signal", int(START_S) - 10, int(START_S) + 50)})},
        {MARK_KEY: show_marks({None: Mark("9.server", "requeue", int(START_S) + 10, int(START_S) + 70)})},
    ],
    ids=["cleared", "withdrawn", "of an earlier run", "of another request"],
)
def test_a_signal_is_not_sent_where_the_mark_no_longer_asks_for_it(mark: dict[str, str]) -> None:
    """Signals to victims of one host follow each other: a slow host delays the second beyond the next pass."""
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(), **mark}
    request = VictimRequest("12.server", SIGNAL, "USR2", START_S)
    assert VictimRequests(pbs_ifl, [request], lambda: None).skipped == {"12.server"}
    assert acts() == []


@pytest.mark.parametrize("marked", ["8[].server", "8[2].server"], ids=["PBS", "Torque"])
@pytest.mark.parametrize(("why", "sent"), [("", [["signal", "8[2].server", "USR2"]]), ("preemption-given-up", [])])
def test_the_mark_that_asks_a_subjob_to_save_is_its_arrays_or_its_own(
    marked: str, why: str, sent: list[list[str]]
) -> None:
    """With Torque arrays are no jobs, and each subjob has its own mark."""
    mark = Mark("9.server", "signal", int(START_S) + 10, int(START_S) + 70, why=why)
    pbs_ifl.WORLD["jobs"]["8[].server"] = {"job_state": "B"}
    pbs_ifl.WORLD["jobs"][marked][MARK_KEY] = show_marks({2: mark})
    VictimRequests(pbs_ifl, [VictimRequest("8[2].server", SIGNAL, "USR2", START_S)], lambda: None)
    assert acts() == sent


@pytest.mark.parametrize("how", [CHECKPOINT, REQUEUE])
def test_a_victim_whose_host_answers_too_late_is_left_alone(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    pbs_ifl.WORLD["jobs"]["12.server"] = {**running(), "substate": "42", MARK_KEY: HELD}
    seconds = iter([0.0, 1.0, requeue._LATEST_S + 1])
    monkeypatch.setattr(requeue, "time", types.SimpleNamespace(monotonic=lambda: next(seconds), time=time.time))
    victim_requests = VictimRequests(pbs_ifl, [VictimRequest("12.server", how, "", START_S)], lambda: None)
    assert acts() == []
    assert "got no request" in victim_requests.failures["12.server"]
