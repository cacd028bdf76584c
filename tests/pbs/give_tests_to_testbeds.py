"""Which worker runs which test of a real server, and in which order, where several run side by side.

A unit is what one worker runs: a test, or all tests that share a testbed of their own. The units that take longest
start first, so that in the end no worker is busy with a long one while the others have nothing left to do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from container.engines.engine_interface import ENGINES

SESSION_ENGINE = os.environ.get("PBSTEER_ENGINE", "netns")
OWN_TESTBED = ("test_multi_vnode_hosts.py", "test_vnode_limits_and_placement_sets_as_pbs_sched.py")
"""The files whose tests share a testbed of another shape."""
CENTRES = "tests/pbs/centre/"
"""The folder of tests that share a centre of several testbeds with the other tests of their worker."""
CENTRE_WORKERS = 2
"""How many workers run tests of centres: each starts its own, which takes a minute."""
TORQUE = "tests/torque/server/"
"""The folder of tests that share one testbed of Torque."""
FOLDERS = ("tests/pbs/", TORQUE)
"""Where the tests of a real server are."""
FIRST_WORKERS = 4
"""How many workers start at once. Each further one waits until the machine has time for it: tests that share two cores
with too many others are late."""
TEST_S, SLOW_TEST_S = 15.0, 40.0
"""How long a test takes that does not say so by the mark ``takes``, and one that is marked as slow."""


def name_unit(nodeid: str) -> str:
    """The unit that a test belongs to."""
    for engine in ENGINES:
        if engine != SESSION_ENGINE and f"[{engine}" in nodeid:
            return engine
    file, _, _ = nodeid.partition("::")
    if file.startswith(TORQUE):
        return TORQUE
    return file if file.endswith(OWN_TESTBED) or file.startswith(CENTRES) else nodeid


def put_longest_first(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of each unit one after the other, the units by their time, tests of one unit as they were."""
    units: dict[str, list[pytest.Item]] = {}
    for item in items:
        units.setdefault(name_unit(item.nodeid), []).append(item)
    longest_first = sorted(units.values(), key=lambda tests: -sum(map(_estimate_s, tests)))
    return [item for tests in longest_first for item in tests]


def _estimate_s(item: pytest.Item) -> float:
    takes = item.get_closest_marker("takes")
    if takes is not None:
        return float(takes.args[0])
    return TEST_S if item.get_closest_marker("slow") is None else SLOW_TEST_S


class LongestFirst(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Gives each unit, in the order of the tests, to the next worker that is idle, but for two exceptions: tests of
    centres go to few workers, and a worker that waits until its testbed may start keeps the shortest units waiting."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        # Else xdist orders the units by their number of tests.
        config.option.loadscopereorder = False
        self._centre_workers: set[Any] = set()

    def _split_scope(self, nodeid: str) -> str:
        return name_unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        unit = self._choose_unit(node)
        if unit.startswith(CENTRES):
            self._centre_workers.add(node)
        self.workqueue.move_to_end(unit, last=False)
        super()._assign_work_unit(node)

    def _choose_unit(self, node: Any) -> str:
        queued: list[str] = list(self.workqueue)
        centres = [unit for unit in queued if unit.startswith(CENTRES)]
        if node in self._centre_workers and centres:
            return centres[0]
        if len(self._centre_workers & set(self.nodes)) >= CENTRE_WORKERS:
            queued = [unit for unit in queued if unit not in centres] or queued
        return queued[-1] if self._waits_for_testbed(node) else queued[0]

    def _waits_for_testbed(self, node: Any) -> bool:
        begun = self.assigned_work[node].values()
        return is_late_worker(node.gateway.id) and not any(any(unit.values()) for unit in begun)


def is_late_worker(name: str) -> bool:
    """Whether a worker waits for the machine to have time for its testbed: "gw5" does, "gw0" and "master" do not."""
    return count_looks(name) > 0


def count_looks(name: str) -> int:
    """How many looks in a row have to show that the machine has time before this worker's testbed starts. The next
    worker needs one look more than this one, so that it sees what this one takes."""
    return 0 if name == "master" else max(0, int(name.removeprefix("gw")) - FIRST_WORKERS + 1)
