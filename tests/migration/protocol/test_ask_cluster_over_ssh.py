"""Asking another cluster: what is run, and that only a reply of this protocol counts as an answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

import pytest

from migration.config.cluster_file import Cluster
from migration.programs.converse_with_program import Conversation, NoAnswerError
from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, Finished
from migration.protocol.ask_cluster_over_ssh import FailedReply, NoReply, SshCall
from migration.protocol.message_lines_and_fields import to_line_bytes
from migration.protocol.questions import ACCEPT, AVAIL, WITHDRAW, About, Hand, several_to_data
from migration.protocol.replies import Busy, Failed, Reply, State, Unknown, reply_to_data
from policy.migration.available_to_other_clusters import FreeNodes, Shape, make_answer
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.schedulers.fake_run_with_recorded_outputs import FakeRun, failed

B = Cluster("b", "mg@b-mgmt")


def line(reply: Reply) -> Finished:
    return Finished(0, to_line_bytes(reply_to_data(reply, time.time())), b"")


def test_one_verb_is_the_whole_command_and_keys_of_hosts_must_be_known() -> None:
    run = FakeRun({"ssh": line(Unknown("a.1", 2))})
    assert SshCall(run, 7)(B, WITHDRAW, About("a.1", 2).to_data()) == Unknown("a.1", 2)
    (call,) = run.calls
    assert call.argv[-2:] == ("mg@b-mgmt", "mg withdraw")
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=7"} <= set(call.argv)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (failed(255, "ssh: connect to host b-mgmt port 22: Connection refused"), "Connection refused"),
        (Finished(TIMED_OUT, b"", b"killed after 30 s"), "killed after 30 s"),
        (Finished(0, b"Welcome to b\n", b""), "its reply is invalid"),
        (Finished(0, b'{"v":1,"reply":"unk', b""), "cut off"),
        (line(Failed("slurmctld is silent")), "slurmctld is silent"),
        (line(make_answer("c", FreeNodes("pbs", 8, (Shape(1, 8, 0, 0),)), [], 8)), "calls itself 'c'"),
    ],
)
def test_anything_else_is_no_answer(said: Finished, problem: str) -> None:
    with pytest.raises(NoReply, match=problem):
        SshCall(FakeRun({"ssh": said}), 10)(B, AVAIL)


@pytest.mark.parametrize(
    "said",
    [line(Failed("slurmctld is silent")), line(State(Record(gid="a.1", avoid=("../c",))))],
    ids=["failed", "unreadable record"],
)
def test_a_cluster_that_could_not_answer_one_question_is_there(said: Finished) -> None:
    with pytest.raises(FailedReply):
        SshCall(FakeRun({"ssh": said}), 10)(B, WITHDRAW, About("a.1", 1).to_data())


def test_what_is_garbage_is_silence_and_is_shown_as_text() -> None:
    with pytest.raises(NoReply) as raised:
        SshCall(FakeRun({"ssh": Finished(0, b'{"v":"\\u009b2J"}\n', b"")}), 10)(B, AVAIL)
    assert not isinstance(raised.value, FailedReply)
    assert str(raised.value).isprintable()


def test_a_cluster_without_an_address_is_not_asked() -> None:
    run = FakeRun({})
    with pytest.raises(NoReply, match="no ssh"):
        SshCall(run, 10)(Cluster("b", ""), AVAIL)
    assert run.calls == []


ENDED = b"ended"


class FakeTalk:
    """A connection over which questions are answered with these lines; None is no answer, ENDED that it has ended."""

    has_ended = False

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.sent: list[bytes] = []
        self.opened: list[tuple[str, ...]] = []
        self.closed = 0

    def __call__(self, argv: Sequence[str]) -> Conversation:
        self.opened.append(tuple(argv))
        return cast(Conversation, self)

    def send(self, data: bytes, until_s: float) -> None:
        self.sent.append(data)

    def read_line(self, most: int, until_s: float) -> bytes:
        answer = self.answers.pop(0)
        if answer is None:
            raise NoAnswerError(TIMED_OUT, "no answer in time")
        if answer == ENDED:
            raise NoAnswerError(NOT_STARTED, "the program ended")
        return answer

    def close(self, within_s: float) -> str:
        self.closed += 1
        return "Connection closed"


OFFER = Hand(Record(gid="a.1", src="a", dst="b", state="Offered")).to_data(0)


def test_all_questions_go_over_one_connection() -> None:
    run, talk = FakeRun({}), FakeTalk(line(Busy("full")).out, line(Failed("silent")).out, line(Busy("full")).out)
    call = SshCall(run, 7, talk)
    assert call(B, ACCEPT, OFFER) == Busy("full")
    with pytest.raises(FailedReply, match="silent"):
        call(B, ACCEPT, OFFER)
    assert call(B, ACCEPT, OFFER) == Busy("full")
    assert [argv[-2:] for argv in talk.opened] == [("mg@b-mgmt", "mg several")]
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=7"} <= set(talk.opened[0])
    assert talk.sent == [to_line_bytes(several_to_data(ACCEPT, OFFER))] * 3
    assert (run.calls, talk.closed) == ([], 0)


@pytest.mark.parametrize("wrong", [None, b"Welcome\n", b'{"v":1'])
def test_a_question_without_a_reply_ends_the_connection_and_the_next_opens_another(wrong: bytes | None) -> None:
    talk = FakeTalk(wrong, line(Busy("full")).out)
    call = SshCall(FakeRun({}), 7, talk)
    with pytest.raises(NoReply) as raised:
        call(B, ACCEPT, OFFER)
    assert not isinstance(raised.value, FailedReply)
    assert call(B, ACCEPT, OFFER) == Busy("full")
    assert (len(talk.opened), talk.closed) == (2, 1)


def test_a_first_answer_that_says_failed_may_be_the_end_of_the_connection_and_silences_no_cluster() -> None:
    talk = FakeTalk(line(Failed("busy with 8 questions")).out, line(Busy("full")).out)
    call = SshCall(FakeRun({}), 7, talk)
    with pytest.raises(FailedReply, match="busy with 8"):
        call(B, ACCEPT, OFFER)
    assert call(B, ACCEPT, OFFER) == Busy("full")
    assert (len(talk.opened), talk.closed) == (2, 1)


def test_a_question_over_a_connection_that_has_ended_is_asked_once_more_over_another() -> None:
    talk = FakeTalk(line(Busy("full")).out, ENDED, line(Busy("again")).out, ENDED, ENDED, line(Busy("full")).out)
    call = SshCall(FakeRun({}), 7, talk)
    assert call(B, ACCEPT, OFFER) == Busy("full")
    assert call(B, ACCEPT, OFFER) == Busy("again")
    with pytest.raises(NoReply):
        call(B, ACCEPT, OFFER)
    assert (len(talk.opened), talk.closed) == (3, 3)


def test_a_question_that_is_late_over_a_used_connection_is_not_asked_twice() -> None:
    talk = FakeTalk(line(Busy("full")).out, None)
    call = SshCall(FakeRun({}), 7, talk)
    assert call(B, ACCEPT, OFFER) == Busy("full")
    with pytest.raises(NoReply, match="no answer in time"):
        call(B, ACCEPT, OFFER)
    assert len(talk.sent) == 2


def test_a_connection_is_not_used_for_longer_than_the_other_end_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    talk = FakeTalk(*[line(Busy("full")).out] * 20)
    call = SshCall(FakeRun({}), 7, talk)
    for _ in range(20):
        call(B, ACCEPT, OFFER)
        now_s += 50
    assert len(talk.opened) == 2


def test_a_connection_that_was_long_unused_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    talk = FakeTalk(*[line(Busy("full")).out] * 2)
    call = SshCall(FakeRun({}), 7, talk)
    call(B, ACCEPT, OFFER)
    now_s += 100
    call(B, ACCEPT, OFFER)
    assert (len(talk.opened), talk.closed) == (2, 1)


def test_an_older_cluster_gets_a_connection_for_each_question() -> None:
    older = Failed("command 'mg several': must be mg and one of avail, accept, withdraw, query, stop")
    run, talk = FakeRun({"ssh": line(Busy("full"))}), FakeTalk(line(older).out, line(older).out)
    call = SshCall(run, 7, talk)
    assert call(B, ACCEPT, OFFER) == Busy("full")
    assert call(B, ACCEPT, OFFER) == Busy("full")
    assert [one.argv[-1] for one in run.calls] == ["mg accept", "mg accept"]
    assert (len(talk.opened), talk.closed) == (1, 1)
