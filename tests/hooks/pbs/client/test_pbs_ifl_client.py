"""The connection: linked lists walked and built, the server's words in the errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from hooks.pbs.client.attribute_lists_of_pbs_ifl import AttributeChain
from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, show_marks
from hooks.reader import answer_console_by_json_lines as reader
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status, snapshot_of
from tests.hooks.stand_in import pbs_ifl

HELD = show_marks({None: Mark("9.server", "checkpoint", 1000, 1060, held=True)})


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    pbs_ifl.WORLD.clear()
    pbs_ifl.WORLD.update(
        server_status(
            {"12.server": running(), "8[].server": job("B"), "8[2].server": running(1), "8[3].server": job()}
        ).to_data()
    )
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.UNKNOWN_ATTRIBUTES, pbs_ifl.FREED):
        log.clear()
    yield


def test_a_picture_has_all_jobs_and_of_arrays_the_subjobs_that_run() -> None:
    with Connection(pbs_ifl) as connection:
        seen = connection.read_server_status(NOW_S)
    assert list(seen.jobs) == ["12.server", "8[].server", "8[2].server"]
    assert seen.jobs["12.server"]["exec_vnode"] == "(v1:ncpus=2)"
    assert seen.jobs["12.server"]["Resource_List.select"] == "1:ncpus=2"
    assert seen.vnodes["v1"]["resources_available.mem"] == "32gb"
    assert seen.server["name"] == "server"
    assert snapshot_of(seen, Settings()).idle_cores() == 13
    assert pbs_ifl.CALLS[-1] == ["disconnect"]


def test_a_second_picture_needs_no_new_lists_of_attributes_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[AttributeChain] = []

    def make(*given: Any) -> AttributeChain:
        made.append(AttributeChain(*given))
        return made[-1]

    monkeypatch.setattr("hooks.pbs.client.pbs_ifl_client.AttributeChain", make)
    with Connection(pbs_ifl) as connection:
        first, count = connection.read_server_status(NOW_S), len(made)
        assert count
        assert connection.read_server_status(NOW_S) == first
        assert len(made) == count
        connection.read_jobs(("job_state", "queue"))
        assert len(made) == count + 1


@pytest.mark.parametrize("state", ["B", "H", "W"])
def test_subjobs_of_an_array_that_was_held_meanwhile_run_on_and_are_seen(state: str) -> None:
    pbs_ifl.WORLD["jobs"]["8[].server"]["job_state"] = state
    with Connection(pbs_ifl) as connection:
        assert "8[2].server" in connection.read_server_status(NOW_S).jobs


@pytest.mark.parametrize(("submitted", "remaining", "seen"), [("1-4", "1,3-4", True), ("1-4", "1-4", False)])
def test_subjobs_of_an_array_that_is_still_queued_are_seen_once_one_has_started(
    submitted: str, remaining: str, seen: bool
) -> None:
    """A MoM has not reported the subjob yet, which holds its vnodes."""
    pbs_ifl.WORLD["jobs"]["8[].server"].update(
        {"job_state": "Q", "array_indices_submitted": submitted, "array_indices_remaining": remaining}
    )
    with Connection(pbs_ifl) as connection:
        jobs = connection.read_server_status(NOW_S).jobs
    assert ("8[2].server" in jobs) is seen
    assert "array_indices_submitted" not in jobs["8[].server"]


def test_a_name_that_a_user_made_very_long_is_cut() -> None:
    pbs_ifl.WORLD["jobs"]["12.server"].update({"Resource_List.pbsteer_app": "x" * 1_000_000, "comment": "y" * 1_000})
    with Connection(pbs_ifl) as connection:
        seen = connection.read_server_status(NOW_S).jobs["12.server"]
    assert (len(seen["Resource_List.pbsteer_app"]), len(seen["comment"])) == (1_000, 1_000)


def test_every_answer_is_given_back() -> None:
    with Connection(pbs_ifl) as connection:
        connection.read_server_status(NOW_S)
    assert len(pbs_ifl.FREED) == 7


def test_attributes_that_nobody_asked_for_do_not_come() -> None:
    pbs_ifl.WORLD["jobs"]["12.server"]["Variable_List"] = "HOME=/home/alice"
    with Connection(pbs_ifl) as connection:
        assert "Variable_List" not in connection.read_server_status(NOW_S).jobs["12.server"]


def test_a_server_that_does_not_know_an_attribute_is_asked_for_all() -> None:
    pbs_ifl.UNKNOWN_ATTRIBUTES.add("max_run_subjobs")
    with Connection(pbs_ifl) as connection:
        assert "12.server" in connection.read_server_status(NOW_S).jobs


def test_a_server_without_vnodes_has_none() -> None:
    pbs_ifl.WORLD["vnodes"] = {}
    with Connection(pbs_ifl) as connection:
        assert connection.read_server_status(NOW_S).vnodes == {}


def test_bytes_that_are_no_text_can_be_written_down_again() -> None:
    pbs_ifl.WORLD["jobs"]["12.server"]["Job_Name"] = b"x\xff\xf0\x9f\x98\x80".decode("utf-8", "surrogateescape")
    with Connection(pbs_ifl) as connection:
        name = connection.read_server_status(NOW_S).jobs["12.server"]["Job_Name"]
    assert name.encode("utf-8").decode("utf-8") == "x\ufffd\U0001f600"


def test_a_start_names_job_and_place() -> None:
    with Connection(pbs_ifl) as connection:
        connection.start("8[3].server", "(v2:ncpus=1)")
    assert ["start", "8[3].server", "(v2:ncpus=1)"] in pbs_ifl.CALLS


def test_a_refusal_quotes_the_server() -> None:
    pbs_ifl.REFUSALS["12.server"] = "Request invalid for state of job"
    with (
        Connection(pbs_ifl) as connection,
        pytest.raises(IflError, match=r"start 12\.server .*Request invalid .*15004"),
    ):
        connection.start("12.server", "(v2:ncpus=1)")


@pytest.mark.parametrize("said", ["15139 Job has finished", "15001 Unknown Job Id"])
def test_a_comment_of_a_job_that_has_ended_meanwhile_is_nobodys_failure(said: str) -> None:
    pbs_ifl.REFUSALS["12.server"] = said
    with Connection(pbs_ifl) as connection:
        connection.set_comment("12.server", "why it waits")
        with pytest.raises(IflError, match=said[6:]):
            connection.set_mark("12.server", HELD)
    pbs_ifl.REFUSALS["12.server"] = "Unauthorized Request"
    with Connection(pbs_ifl) as connection, pytest.raises(IflError, match="Unauthorized"):
        connection.set_comment("12.server", "why it waits")


def test_comments_are_written_without_what_a_terminal_would_obey() -> None:
    with Connection(pbs_ifl) as connection:
        connection.set_comment("12.server", "asks for aoe=a\x1b]0;OWNED\x07\n")
        connection.set_mark("12.server", HELD, comment="a\x1b[31m")
    written = [call[call.index("comment") + 1] for call in pbs_ifl.CALLS if "comment" in call]
    assert written == [r"asks for aoe=a\x1b]0;OWNED\x07\n", r"a\x1b[31m"]


def test_a_server_without_vnodes_has_an_empty_list() -> None:
    pbs_ifl.WORLD["vnodes"] = {}
    with Connection(pbs_ifl) as connection:
        assert connection.read_server_status(NOW_S).vnodes == {}


def test_a_server_that_is_away_is_named() -> None:
    pbs_ifl.WORLD["away"] = True
    with pytest.raises(IflError, match="cannot connect to the PBS server"):
        Connection(pbs_ifl)


def test_a_mark_and_a_hold_are_one_request() -> None:
    with Connection(pbs_ifl) as connection:
        connection.set_mark("8[].server", HELD, "su")
        connection.set_mark("1.server", HELD)
    assert [call for call in pbs_ifl.CALLS if call[0] == "alter"] == [
        ["alter", "8[].server", MARK_KEY, HELD, "Hold_Types", "su"],
        ["alter", "1.server", MARK_KEY, HELD],
    ]


def test_the_reader_answers_line_by_line() -> None:
    answers = StringIO()
    reader.serve(pbs_ifl, StringIO('{"want": "status"}\n{"want": "x"}\nnonsense\n[]\n'), answers)
    *parts, first, second, third = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert parts[0] == {"anew": True}
    keys = next(part["keys"] for part in parts if "keys" in part)
    rows = next(part["jobs"] for part in parts if "jobs" in part)
    assert dict(zip(keys, rows[0][2:]))["euser"] == "alice"
    assert rows[0][1] == "12.server"
    assert parts[-1]["read_s"] >= 0
    assert [list(other) for other in (first, second, third)] == [["error"]] * 3


def test_the_reader_says_when_the_server_is_away_and_goes_on() -> None:
    pbs_ifl.WORLD["away"] = True
    answers = StringIO()
    reader.serve(pbs_ifl, StringIO('{"want": "status"}\n' * 2), answers)
    assert all("cannot connect" in json.loads(line)["error"] for line in answers.getvalue().splitlines())
