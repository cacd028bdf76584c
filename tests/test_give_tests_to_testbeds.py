"""The tests of a real server that take longest start first, whichever of its folders are run together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.pbs.give_tests_to_testbeds import CENTRES, TORQUE, LongestFirst, name_unit, put_longest_first

ROOT = Path(__file__).parents[1]


def item(nodeid: str, **marks: float) -> Any:
    made = {name: SimpleNamespace(args=(value,)) for name, value in marks.items()}
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=made.get)


class Node:
    """A worker, as far as a scheduler needs one: the tests that it was given, by their position."""

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.shutting_down = False
        self.given: list[int] = []

    def send_runtest_some(self, positions: list[int]) -> None:
        self.given += positions

    def shutdown(self) -> None:
        self.shutting_down = True


def start(tests: list[str], workers: int) -> tuple[LongestFirst, list[Node]]:
    option = SimpleNamespace(loadscopereorder=True)
    words = [f"{workers}*popen"]
    config = SimpleNamespace(option=option, getvalue={"tx": words}.__getitem__)
    scheduler = LongestFirst(config, None)  # type: ignore[arg-type]
    nodes = [Node(number) for number in range(workers)]
    for node in nodes:
        scheduler.add_node(node)
    for node in nodes:
        scheduler.add_node_collection(node, tests)
    scheduler.schedule()
    return scheduler, nodes


def run_to_the_end(scheduler: LongestFirst, nodes: list[Node], tests: list[str]) -> dict[str, int]:
    """Each worker runs one of its tests in turn: test -> the worker that ran it."""
    ran: dict[str, int] = {}
    while len(ran) < len(tests):
        for number, node in enumerate(nodes):
            position = next((given for given in node.given if tests[given] not in ran), None)
            if position is not None:
                ran[tests[position]] = number
                scheduler.mark_test_complete(node, position)
    return ran


def test_units_are_ordered_by_their_time_and_stay_whole() -> None:
    items = [
        item("tests/pbs/a.py::quick"),
        item(f"{TORQUE}a.py::one"),
        item("tests/pbs/a.py::slow", slow=0),
        item("tests/pbs/b.py::longest", slow=0, takes=90),
        item(f"{TORQUE}b.py::two"),
        item(f"{TORQUE}b.py::three"),
    ]
    ordered = [test.nodeid.partition("::")[2] for test in put_longest_first(items)]
    assert ordered == ["longest", "one", "two", "three", "slow", "quick"]


def test_a_run_of_pbs_and_torque_starts_with_what_takes_longest() -> None:
    files = ("quotas/test_reserved_head_yields_to_entitled_jobs.py", "saving/test_save_asked_between_due_passes.py")
    argv = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    argv += [*(f"tests/pbs/{file}" for file in files), f"{TORQUE}test_doctor_real.py"]
    done = subprocess.run(argv, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=True)
    collected = [line for line in done.stdout.splitlines() if "::" in line]
    assert f"tests/pbs/{files[1]}" in collected[0]
    assert "test_a_requeued_victim_protects_no_run_of_its_owner" in collected[1]
    assert [name_unit(test) for test in collected].count(TORQUE) == 2


def test_every_test_is_run_once_and_units_by_one_worker() -> None:
    tests = [f"{TORQUE}a.py::{number}" for number in range(5)] + [f"tests/pbs/a.py::{number}" for number in range(30)]
    scheduler, nodes = start(tests, 3)
    ran = run_to_the_end(scheduler, nodes, tests)
    assert sorted(ran) == sorted(tests)
    assert len({ran[test] for test in tests if test.startswith(TORQUE)}) == 1
    assert sorted(given for node in nodes for given in node.given) == list(range(len(tests)))


def test_tests_of_centres_go_to_two_workers() -> None:
    centres = [f"{CENTRES}test_{file}.py::{number}" for file in range(6) for number in range(2)]
    tests = [*centres, *(f"tests/pbs/a.py::{number}" for number in range(30))]
    scheduler, nodes = start(tests, 6)
    ran = run_to_the_end(scheduler, nodes, tests)
    assert sorted(ran) == sorted(tests)
    assert len({ran[test] for test in centres}) == 2


def test_a_worker_whose_testbed_waits_for_time_keeps_only_the_shortest_tests_waiting() -> None:
    tests = [f"tests/pbs/a.py::{number}" for number in range(40)]
    scheduler, nodes = start(tests, 6)
    first, late = nodes[:4], nodes[4:]
    assert {number for node in late for number in node.given} == {36, 37, 38, 39}
    assert {number for node in first for number in node.given} == set(range(8))
    scheduler.mark_test_complete(nodes[4], nodes[4].given[0])
    assert nodes[4].given[-1] == 8
