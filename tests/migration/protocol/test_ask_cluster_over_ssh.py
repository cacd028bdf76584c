"""Asking another cluster: what is run, and that only a reply of this protocol counts as an answer."""

from __future__ import annotations

import time

import pytest

from migration.config.cluster_file import Cluster
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.protocol.ask_cluster_over_ssh import FailedReply, NoReply, SshCall
from migration.protocol.messages import (
    AVAIL,
    WITHDRAW,
    About,
    Failed,
    Reply,
    State,
    Unknown,
    reply_to_data,
    to_line_bytes,
)
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
        (Finished(0, b"Welcome to b\n", b""), "is no reply"),
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
