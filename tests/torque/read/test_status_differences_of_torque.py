"""The differences that a console is sent, from a source that holds Torque's own texts: each poll gives what a whole
read would, and a source that lies gives an error. ``tests/torque/server`` compares the same on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.reader.apply_status_differences import Assembly
from tests.torque.recorded_status import by_library
from torque.read.believe_job_list import ReadingUser
from torque.read.libtorque_connection import TorqueError
from torque.read.status_differences_of_torque import TorqueDifferences

Texts = dict[str, str]


@dataclass
class Source:
    """A server: ``asked`` are the requests for jobs that it had; ``hidden`` lets it list no job and count all."""

    jobs: dict[str, Texts]
    nodes: dict[str, Texts]
    hidden: bool = False
    asked: list[str] = field(default_factory=list)

    def read_server(self) -> tuple[str, Texts]:
        return "tq", {"server_state": "Active", "total_jobs": str(len(self.jobs)), "managers": "root@tq"}

    def walk_queues(self) -> Iterator[tuple[str, Texts]]:
        yield "batch", {"enabled": "True", "started": "True"}

    def walk_nodes(self) -> Iterator[tuple[str, Texts]]:
        yield from self.nodes.items()

    def walk_jobs(self) -> Iterator[tuple[str, Texts]]:
        self.asked.append("all")
        yield from () if self.hidden else self.jobs.items()

    def walk_job_ids(self) -> Iterator[str]:
        self.asked.append("ids")
        yield from () if self.hidden else self.jobs

    def walk_changed_jobs(self, since_s: int) -> Iterator[tuple[str, Texts]]:
        self.asked.append("changed")
        if not self.hidden:
            yield from ((job_id, texts) for job_id, texts in self.jobs.items() if int(texts["mtime"]) >= since_s)


class Console:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.differences = TorqueDifferences(ReadingUser("root", "tq"))
        self.assembly = Assembly()
        self.time_s = 0.0

    def poll(self) -> ServerStatus:
        self.time_s += 1
        self.source.asked.clear()
        found = None
        for part in self.differences.answer(self.source, self.time_s, whole=self.assembly.is_empty):
            found = self.assembly.take(part)
        assert found is not None
        return found


@pytest.fixture
def console() -> Console:
    read = by_library()
    return Console(Source(read["jobs"], read["nodes"]))


def whole(source: Source) -> ServerStatus:
    return Console(source).poll()


def later(source: Source, job_id: str, **changes: str) -> None:
    newest = max(int(texts["mtime"]) for texts in source.jobs.values())
    source.jobs[job_id] = {**source.jobs[job_id], "mtime": str(newest + 1), **changes}


def test_the_first_answer_is_all_of_it_and_later_ones_ask_for_what_changed(console: Console) -> None:
    first = console.poll()
    assert console.source.asked == ["all"]
    assert len(first.jobs) == 18
    later(console.source, "7.tq", job_state="H", Hold_Types="u")
    second = console.poll()
    assert console.source.asked == ["changed"]
    assert (second.jobs["7.tq"]["job_state"], second.jobs["7.tq"]["Hold_Types"]) == ("H", "u")
    assert second.jobs["0.tq"] is first.jobs["0.tq"]


def test_jobs_that_vanish_and_come_at_once_are_noticed(console: Console) -> None:
    console.poll()
    source = console.source
    source.jobs["19.tq"] = dict(source.jobs["8.tq"])
    later(source, "19.tq")
    for gone in ("7.tq", "17[0].tq"):
        del source.jobs[gone]
    found = console.poll()
    assert source.asked == ["changed", "ids"]
    assert found.jobs == whole(source).jobs
    assert "17[0].tq" not in found.jobs


def test_a_job_that_ends_leaves_the_status(console: Console) -> None:
    console.poll()
    later(console.source, "0.tq", job_state="C", exit_status="0", comp_time="1")
    assert "0.tq" not in console.poll().jobs
    assert console.source.asked == ["changed"]


def test_a_new_node_reads_all_jobs_anew_as_a_word_of_a_request_may_name_it(console: Console) -> None:
    assert console.poll().jobs["3.tq"]["Resource_List.select"] == "1:ncpus=1:property_fast=True"
    console.source.nodes["fast"] = {"np": "1", "state": "free"}
    assert console.poll().jobs["3.tq"]["Resource_List.select"] == "1:ncpus=1:vnode=fast"
    assert console.source.asked == ["all"]


@pytest.mark.parametrize("first", [True, False])
def test_no_jobs_are_never_believed_from_a_server_that_counts_some(console: Console, *, first: bool) -> None:
    if not first:
        console.poll()
        for job_id in list(console.source.jobs)[:3]:
            del console.source.jobs[job_id]
    console.source.hidden = True
    with pytest.raises(TorqueError, match="listed 0 jobs and counts"):
        console.poll()
    console.differences.forget()
    console.assembly.begin_anew()
    console.source.hidden = False
    assert console.poll().jobs == whole(console.source).jobs


def test_a_server_without_jobs_is_believed(console: Console) -> None:
    console.poll()
    console.source.jobs.clear()
    assert console.poll().jobs == {}
