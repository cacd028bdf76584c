"""Jobs, nodes and queues that a real Torque server had, in PBS's words: the same by both ways of reading."""

from __future__ import annotations

import pytest

from hooks.translate.snapshot import translate
from policy import Settings
from tests.torque.recorded_status import by_library, job_named, status_by_library, status_by_programs
from torque.translate.jobs import read_ended_jobs

STATUS = status_by_library()


def test_the_library_and_the_programs_give_the_same_status() -> None:
    programs = status_by_programs()
    assert programs.server == STATUS.server
    assert programs.queues == STATUS.queues
    assert programs.resources == STATUS.resources
    assert {name: texts["state"] for name, texts in programs.vnodes.items()} == {"tq-m1": "free", "tq-m2": "free"}
    hostile = next(job_id for job_id, texts in STATUS.jobs.items() if texts["Job_Name"] == "hostile")
    assert programs.jobs.keys() == STATUS.jobs.keys()
    assert [job_id for job_id in STATUS.jobs if programs.jobs[job_id] != STATUS.jobs[job_id]] == [hostile]


@pytest.mark.parametrize(
    ("name", "select", "place", "ncpus"),
    [
        ("two_nodes", "2:ncpus=2", "scatter", "4"),
        ("procs", "3:ncpus=1", "free", "3"),
        ("ncpus", "1:ncpus=4", "free", "4"),
        ("nothing", "1:ncpus=1", "free", "1"),
        ("named_node", "1:ncpus=1:vnode=tq-m2", "scatter", "1"),
        ("property", "1:ncpus=1:property_fast=True", "scatter", "1"),
        ("sum", "1:ncpus=3+1:ncpus=1:property_fast=True", "scatter", "4"),
        ("exclusive", "1:ncpus=1", "scatter:excl", "1"),
    ],
)
def test_each_way_to_ask_for_nodes(name: str, select: str, place: str, ncpus: str) -> None:
    job = job_named(STATUS, name)
    assert (job["Resource_List.select"], job["Resource_List.place"]) == (select, place)
    assert job["Resource_List.ncpus"] == ncpus


@pytest.mark.parametrize(
    ("name", "state", "holds"),
    [
        ("two_nodes", "R", "n"),
        ("suspended", "S", "n"),
        ("requeued", "Q", "n"),
        ("held_while_it_ran", "H", "o"),
        ("user_hold", "H", "u"),
        ("after", "H", "s"),
        ("later", "W", "n"),
    ],
)
def test_each_state(name: str, state: str, holds: str) -> None:
    job = job_named(STATUS, name)
    assert (job["job_state"], job["Hold_Types"]) == (state, holds)


def test_a_job_that_does_not_run_holds_nothing_whatever_torque_still_shows() -> None:
    shown = [texts for texts in by_library()["jobs"].values() if texts["Job_Name"] == "held_while_it_ran"]
    assert shown[0]["exec_host"] == "tq-m1/5-6"
    assert "exec_vnode" not in job_named(STATUS, "held_while_it_ran")
    assert job_named(STATUS, "two_nodes")["exec_vnode"] == "(tq-m1:ncpus=2)+(tq-m2:ncpus=2)"


def test_only_a_job_that_says_so_can_be_requeued() -> None:
    assert job_named(STATUS, "property")["Rerunable"] == "False"
    assert job_named(STATUS, "procs")["Rerunable"] == "True"


def test_jobs_that_ended_are_no_jobs_of_the_status_but_of_the_history() -> None:
    read = by_library()
    ended = {texts["Job_Name"]: texts for texts in read_ended_jobs(read["jobs"].items(), 0.0, read["nodes"]).values()}
    assert ended.keys() == {"exit_3", "deleted"}
    assert not {"exit_3", "deleted"} & {texts["Job_Name"] for texts in STATUS.jobs.values()}
    assert (ended["exit_3"]["job_state"], ended["exit_3"]["Exit_status"]) == ("F", "3")
    assert ended["deleted"]["Exit_status"] == "271"
    later_s = max(int(texts["obittime"]) for texts in ended.values()) + 1.0
    assert read_ended_jobs(read["jobs"].items(), later_s, read["nodes"]) == {}


def test_an_array_is_one_job_beside_its_running_subjobs() -> None:
    limited = job_named(STATUS, "limited")
    assert limited["job_state"] == "B"
    assert (limited["array_indices_remaining"], limited["max_run_subjobs"]) == ("1-4", "2")
    assert limited["Hold_Types"] == "n"
    assert job_named(STATUS, "limited-0")["exec_vnode"] == "(tq-m1:ncpus=1)"
    waiting = job_named(STATUS, "waiting")
    assert waiting["job_state"] == "Q"
    assert (waiting["array_indices_remaining"], waiting["held_subjobs"]) == ("1,3,7", "2")
    assert "max_run_subjobs" not in waiting


def test_the_slots_in_use_are_those_that_the_jobs_hold() -> None:
    held: dict[str, int] = dict.fromkeys(STATUS.vnodes, 0)
    for texts in STATUS.jobs.values():
        if texts["job_state"] == "R":
            for part in texts.get("exec_vnode", "").strip("()").split(")+("):
                name, _, cores = part.partition(":ncpus=")
                held[name] += int(cores)
    assert held == {"tq-m1": 4, "tq-m2": 6}
    assert {name: int(texts["resources_assigned.ncpus"]) for name, texts in STATUS.vnodes.items()} == held


def test_a_property_is_a_resource_of_its_nodes() -> None:
    assert STATUS.resources["property_fast"] == {"type": "boolean", "flag": "h"}
    having = [name for name, texts in STATUS.vnodes.items() if texts.get("resources_available.property_fast")]
    assert having == ["tq-m1"]


def test_a_queue_that_was_never_started_is_not() -> None:
    assert (STATUS.queues["night"]["enabled"], STATUS.queues["night"]["started"]) == ("False", "False")
    assert (STATUS.queues["batch"]["enabled"], STATUS.queues["batch"]["started"]) == ("True", "True")


def test_the_decision_reads_all_of_it() -> None:
    found = translate(STATUS, Settings())
    assert not found.problems
    assert not found.unread
    assert {*found.snapshot.jobs, *found.snapshot.runs} == STATUS.jobs.keys()
    assert set(found.snapshot.runs) == {"0.tq", "1.tq", "2.tq", "3.tq", "17[0].tq"}
