"""What a pass asks of a Torque server, through the client that it has for PBS, and what is refused before."""

from __future__ import annotations

from functools import partial

import pytest

from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from tests.torque.fake_torque import FakeTorque, as_pbs_ifl, job, running

MARK = "pbsteer for=7.tq how=signal asked=10"


@pytest.fixture
def torque() -> FakeTorque:
    return FakeTorque({"1.tq": job(), "2.tq": running("bob", "n1/0-1"), "3.tq": job(state="C", exit_status="0")})


def connect(torque: FakeTorque) -> Connection:
    return Connection(as_pbs_ifl(torque))


def test_a_start_names_the_slots_of_each_host_once(torque: FakeTorque) -> None:
    connect(torque).start("1.tq", "(n1:ncpus=2)+(n2:ncpus=1)+(n1:ncpus=1)")
    assert torque.calls == [("run", "1.tq", "n1:ppn=3+n2:ppn=1")]


@pytest.mark.parametrize("state", ["H", "W", "R", "C", "E"])
def test_only_a_job_that_waits_unheld_is_started(torque: FakeTorque, state: str) -> None:
    """Torque's qrun also starts held jobs, and those that wait for others, whose state is H too."""
    torque.change("1.tq", job_state=state, Hold_Types="u")
    with pytest.raises(IflError, match=r"cannot start 1.tq .*no longer waits"):
        connect(torque).start("1.tq", "(n1:ncpus=2)")
    assert torque.calls == []


def test_a_job_that_has_ended_is_not_requeued(torque: FakeTorque) -> None:
    """Torque would run it again."""
    with pytest.raises(IflError) as refused:
        connect(torque).requeue("3.tq")
    assert (refused.value.code, torque.calls) == (15139, [])
    connect(torque).requeue("2.tq")
    assert torque.calls == [("rerun", "2.tq")]


def test_a_mark_and_a_comment_are_one_request_and_read_back(torque: FakeTorque) -> None:
    connection = connect(torque)
    connection.set_mark("2.tq", MARK, comment="asked to save")
    assert torque.calls == [("alter", "2.tq", "sched_hint", MARK), ("alter", "2.tq", "comment", "asked to save")]
    assert connection.read_job("2.tq", ("estimated",))["estimated.site"] == MARK


def test_chunks_are_said_at_the_start_and_not_altered(torque: FakeTorque) -> None:
    connect(torque).set_chunks("1.tq", {"select": "2:ncpus=1", "place": "scatter", "pbsteer_asked": "1:ncpus=2"})
    assert torque.calls == []


def test_a_signal_has_the_name_that_moms_know(torque: FakeTorque) -> None:
    connect(torque).signal("2.tq", "USR2")
    assert torque.calls == [("signal", "2.tq", "SIGUSR2")]


def test_jobs_that_are_gone_are_left_out_and_one_alone_is_an_error(torque: FakeTorque) -> None:
    connection = connect(torque)
    assert connection.read_these_jobs(["1.tq", "9.tq"], ("job_state",)).keys() == {"1.tq"}
    assert connection.read_these_jobs(["9.tq"], ("job_state",)) == {}
    with pytest.raises(IflError, match="Unknown Job Id"):
        connection.read_job("9.tq", ("job_state",))


def test_a_server_that_does_not_answer_is_an_error_of_each_request(torque: FakeTorque) -> None:
    connection = connect(torque)
    torque.silent = True
    for request in (partial(connection.start, "1.tq", "(n1:ncpus=1)"), partial(connection.requeue, "2.tq")):
        with pytest.raises(IflError, match="no answer") as error:
            request()
        assert error.value.code == 15085


def test_soft_limits_are_not_set_in_the_server(torque: FakeTorque) -> None:
    with pytest.raises(IflError, match="quotas are in the settings file"):
        connect(torque).change_soft_limits("batch", "ncpus", "[u:alice=4]")
