"""One job told whole: every state a job can be in, by its full id or without the server's name."""

from __future__ import annotations

import json

import pytest

from policy import Ledger, Run, Settings, Snapshot, decide
from policy.cluster import UNLIMITED_S
from policy.explain import Explanation, explain
from tests.policy.clusters import cluster, job, place_of, queue, run, vnode

SETTINGS = Settings()


def picture() -> Snapshot:
    """alice is over quota with 1 and 2; bob's 3 preempts, 4 is reserved, 5 is held, 6 starts on the small vnode."""
    return cluster(
        [vnode("v1", 8), vnode("w1", 1)],
        [
            job("3.srv", "bob", "1:ncpus=4"),
            job("4.srv", "carol", "8:ncpus=1:vnode=v1"),
            job("5.srv", "bob", "1", blocked="held by its user"),
            job("6.srv", "carol", "1", 20, submit_s=5),
        ],
        [run("1.srv", "alice", "v1=4", 0, 500), run("2.srv", "alice", "v1=4", 5, UNLIMITED_S)],
        queues=[queue("[u:alice=4],[u:bob=4]")],
    )


def of(job_id: str, snapshot: Snapshot | None = None, ledger: Ledger | None = None) -> Explanation:
    snapshot = snapshot or picture()
    return explain(snapshot, decide(snapshot, ledger or Ledger(), SETTINGS), job_id, SETTINGS)


@pytest.mark.parametrize(
    ("job_id", "state"),
    [
        ("1.srv", "running"),
        ("2.srv", "preempted"),
        ("3.srv", "preempting"),
        ("4.srv", "waiting"),
        ("5.srv", "waiting"),
        ("6.srv", "starting"),
        ("7.srv", "unknown"),
    ],
)
def test_every_state(job_id: str, state: str) -> None:
    explanation = of(job_id)
    assert explanation.state == state
    assert explanation.lines
    assert of(job_id.split(".", maxsplit=1)[0]).state == state
    json.dumps(explanation.as_json(), allow_nan=False)


def text_of(explanation: Explanation, label: str) -> str:
    return next(line.text for line in explanation.lines if line.label == label)


def test_the_standing_of_the_user() -> None:
    assert text_of(of("3.srv"), "job") == "bob · workq · 4 cores, 100 s · u:bob holds 0 of a quota of 4"
    assert text_of(of("4.srv"), "job").endswith("no quota")


def test_what_was_tried() -> None:
    explanation = of("4.srv")
    assert text_of(explanation, "tried preempt, quota") == "preempts nobody: carol has no quota in queue workq"
    assert explanation.reason is not None
    assert explanation.reason.code == "reserved"


def test_the_victims_of_a_beneficiary_and_the_beneficiary_of_a_victim() -> None:
    assert text_of(of("3.srv"), "victim").startswith("2.srv alice: preempted for 3.srv")
    assert "u:alice held 8 of a quota of 4" in text_of(of("2.srv"), "preempted")


def test_where_it_starts() -> None:
    assert text_of(of("6.srv"), "starts").startswith("6.srv in this pass on w1")


def test_how_often_it_was_preempted() -> None:
    assert text_of(of("4.srv", ledger=Ledger(preemptions={"4.srv": 1})), "history") == "preempted 1 time"


def test_a_run_without_walltime_has_no_end() -> None:
    assert all(line.label != "ends" for line in of("2.srv").lines)
    assert text_of(of("1.srv"), "ends") == "in 8 min at the latest, by its walltime"


def test_an_array_that_starts_in_part() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(1, 2, 3))
    snapshot = cluster([vnode("v1", 4)], [array])
    explanation = of("9[]", snapshot)
    assert explanation.state == "waiting"
    assert [line.text for line in explanation.lines if line.label == "starts"] == [
        "9[1].srv in this pass on v1",
        "9[2].srv in this pass on v1",
    ]


def test_a_running_subjob() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(2,))
    one = Run("9[1].srv", array, 0, place_of("v1=2"), 100, False, 1)
    assert of("9[1]", cluster([vnode("v1", 2)], [array], [one])).state == "running"


def test_a_subjob_that_waits_is_told_as_its_array() -> None:
    array = job("9[].srv", "bob", "2", subjobs=(2,))
    one = Run("9[1].srv", array, 0, place_of("v1=2"), 100, False, 1)
    explanation = of("9[2]", cluster([vnode("v1", 2)], [array], [one]))
    assert (explanation.job_id, explanation.state) == ("9[].srv", "waiting")


def test_user_text_is_left_as_it_is() -> None:
    hostile = "[/red]\x1b[31m"
    snapshot = cluster([vnode("v1")], [job("3", hostile, "8")], queues=[queue("")])
    assert hostile in text_of(of("3", snapshot), "job")
