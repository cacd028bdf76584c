"""The tables of the command line: the same rows, columns, filters and order as the console's, as lines or as data."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.tui.scripted_server import NOON_S, ScriptedBackend
from tui.cli.main import main


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ScriptedBackend:
    scripted = ScriptedBackend()
    monkeypatch.setattr("tui.cli.read_commands.table_commands.open_backend_by_options", lambda **_: scripted)
    return scripted


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def rows(*arguments: str) -> list[dict[str, str]]:
    result = run(*arguments, "--csv")
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.output)))


def test_jobs_are_printed_as_the_console_shows_them(backend: ScriptedBackend) -> None:
    lines = run("jobs").output.splitlines()
    assert lines[0].split()[:3] == ["job", "user", "queue"]
    assert [line.split()[0] for line in lines[1:]] == ["11", "12", "13", "14", "16[]", "15"]
    assert backend.closed


def test_columns_filter_and_sort_are_the_consoles(backend: ScriptedBackend) -> None:
    backend.set_job("13.hpc1", **{"Resource_List.ngpus": "2"})
    found = rows("jobs", "--columns", "id,user,resource_list.ngpus", "--filter", "user:bob|carol", "--sort", "-cores")
    assert [row["id"] for row in found] == ["14.hpc1", "13.hpc1", "15.hpc1"]
    assert [row["Resource_List.ngpus"] for row in found] == ["", "2", ""]
    assert "queue" not in rows("jobs", "--columns", "-queue,+project")[0]


def test_json_is_one_object_with_typed_values(backend: ScriptedBackend) -> None:
    data = json.loads(run("vnodes", "--json", "--filter", "user:=alice").output)
    assert (data["table"], data["filter"]) == ("vnodes", "user:=alice")
    assert [(row["vnode"], row["used"], row["cores"]) for row in data["rows"]] == [("v1", 8, 8), ("v2", 4, 8)]


def test_attributes_are_typed_and_times_are_seconds(backend: ScriptedBackend) -> None:
    backend.set_job("13.hpc1", **{"Resource_List.mem": "512mb", "Priority": "-3", "Job_Name": "12"})
    columns = "id,Resource_List.mem,ctime,Priority,Resource_List.walltime,Job_Name"
    data = json.loads(run("jobs", "--columns", columns, "--filter", "user:bob", "--json").output)
    (row,) = data["rows"]
    assert row == {
        "id": "13.hpc1",
        "Resource_List.mem": 512 << 10,
        "ctime": int(NOON_S - 3600),
        "Priority": -3,
        "Resource_List.walltime": 7200,
        "Job_Name": "12",
    }


def test_a_queues_reservation_is_a_point_in_time_that_sorts_and_filters(backend: ScriptedBackend) -> None:
    data = json.loads(run("queues", "--json", "--sort", "reserved").output)
    told = {row["queue"]: row["reserved"] for row in data["rows"]}
    assert told == {"workq": NOON_S + 5400, "gpu": None}
    assert "in 1 h 30" in run("queues").output
    assert [row["queue"] for row in rows("queues", "--filter", "reserved:<2h")] == ["workq"]
    assert rows("queues", "--filter", "reserved:<1h") == []


def test_quotas_are_of_every_queue_or_of_one(backend: ScriptedBackend) -> None:
    found = rows("quotas")
    assert {row["queue"] for row in found} == {"workq"}
    (alice,) = (row for row in found if row["user"] == "alice")
    assert (alice["quota"], alice["used"], alice["over"]) == ("4", "12", "8")
    assert rows("quotas", "gpu") == []
    assert "the server has gpu, workq" in run("quotas", "nosuch").output
    assert "┃═" in run("quotas", "workq").output


def test_queues_have_their_counts(backend: ScriptedBackend) -> None:
    (workq,) = rows("queues", "--filter", "queue:=workq")
    assert (workq["running"], workq["waiting"], workq["held"]) == ("2", "12", "1")


def test_a_file_is_written_once(backend: ScriptedBackend, tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    assert run("jobs", "-o", str(file)).exit_code == 0
    assert len(json.loads(file.read_text())["rows"]) == 6
    again = run("jobs", "-o", str(file))
    assert (again.exit_code, "is there already" in again.output) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("jobs", "--filter", "owner:x"), "no field 'owner' here"),
        (("jobs", "--filter", 'name:"half'), "the quote is not closed"),
        (("jobs", "--sort", "colour"), "no column 'colour'; there are id, user"),
        (("jobs", "--columns", "colour"), "no column 'colour'"),
        (("jobs", "--columns", "-colour"), "'colour' is not shown"),
        (("quotas", "--sort", "Resource_List.x"), "no column 'Resource_List.x'; there are queue, user"),
        (("jobs", "--csv", "--json"), "give one of them"),
        (("jobs", "-o", "jobs.xls"), "says no format"),
    ],
)
def test_what_cannot_be_is_one_line(backend: ScriptedBackend, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code != 0
    assert said in result.output
