"""A running host is found by the marks of its first process, also after another process has taken that number."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from container.hosts import find_and_enter_running_host as hosts
from container.testbed_spec import TestbedSpec

HOST = TestbedSpec(name="t").server
TESTBED = Path("/nonexistent/t")


class Processes:
    """Processes by number, with their marks: what /proc would have."""

    def __init__(self) -> None:
        self.marks: dict[int, dict[str, str]] = {}
        self.listed = 0

    def listed_all(self, testbed: Path) -> Iterator[tuple[int, dict[str, str]]]:
        self.listed += 1
        yield from self.marks.items()


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Processes:
    made = Processes()
    monkeypatch.setattr(hosts, "_FOUND", {})
    monkeypatch.setattr(hosts, "marked_processes", made.listed_all)
    monkeypatch.setattr(hosts, "_read_marks", lambda testbed, pid: made.marks.get(pid, {}))
    monkeypatch.setattr(hosts, "is_first_in_namespace", lambda pid: pid < 1000)
    return made


def test_a_host_is_looked_for_once_and_again_when_its_process_has_ended(processes: Processes) -> None:
    marks = hosts.write_marks(TESTBED, HOST)
    processes.marks = {1234: marks, 12: {**marks, "PBSTEER_HOST": "m1"}, 13: marks}
    assert [hosts.find_host_process(TESTBED, HOST) for _ in range(3)] == [13] * 3
    assert processes.listed == 1
    processes.marks = {14: marks}
    assert hosts.find_host_process(TESTBED, HOST) == 14
    processes.marks = {}
    assert hosts.find_host_process(TESTBED, HOST) is None


def test_a_number_that_another_process_has_now_is_not_believed(processes: Processes) -> None:
    marks = hosts.write_marks(TESTBED, HOST)
    processes.marks = {13: marks}
    assert hosts.find_host_process(TESTBED, HOST) == 13
    processes.marks = {13: {**marks, "PBSTEER_HOST": "m1"}, 15: marks}
    assert hosts.find_host_process(TESTBED, HOST) == 15


def test_a_process_of_this_machine_without_the_marks_is_none_of_a_testbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_FOUND", {(TESTBED, HOST.name): os.getpid()})
    assert hosts.find_host_process(TESTBED, HOST) is None
