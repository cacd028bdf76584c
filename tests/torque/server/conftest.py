"""Tests of a real Torque server: one testbed for all of them, ``torque``, the same one swept clean, and ``passes``, the
passes over it.

Where no testbed of Torque can run (not root, no installed Torque) every test in this folder is skipped, with the
reason.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from container import testbed as testbeds
from container.hosts.machine_and_host_requirements import find_torque_prefix, find_torque_shortcomings
from container.testbed_spec import TestbedSpec
from tests.torque.cluster import TorqueCluster
from tests.torque.server.pass_on_torque import Passes, forget_passes, without_pbs_sched

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    shortcomings = find_torque_shortcomings() if ours else None
    if shortcomings is not None:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=shortcomings))


@pytest.fixture(scope="session")
def testbed() -> Iterator[TorqueCluster]:
    """A testbed with two MoMs of eight slots, named for this process so that test runs do not meet."""
    remove_orphans()
    spec = TestbedSpec(name=f"tqt-{os.getpid()}", moms=2, pbs_exec=find_torque_prefix(None), scheduler="torque")
    built, _ = testbeds.up(spec)
    try:
        yield TorqueCluster(built)
    finally:
        testbeds.down(spec.name)


@pytest.fixture
def torque(testbed: TorqueCluster) -> TorqueCluster:
    """The session's testbed without the jobs and changes of an earlier test."""
    testbed.reset()
    return testbed


@pytest.fixture
def passes(torque: TorqueCluster) -> Iterator[Passes]:
    """No pass has been made; pbs_sched is away; the server wakes the process that listens."""
    forget_passes(torque)
    with without_pbs_sched(torque):
        torque.qmgr("set server scheduling = True", "set server automatic_requeue_exit_code = 85")
        made = Passes(torque)
        # The signal goes to the login shell too, which would die of it.
        (torque.testbed.home("bob") / ".profile").write_text("trap : USR2\n", encoding="utf-8")
        made.log.unlink(missing_ok=True)
        try:
            yield made
        finally:
            made.stop()
            sys.stderr.write(made.said())
            torque.qmgr("unset server automatic_requeue_exit_code")


def remove_orphans() -> None:
    """Take down the testbeds of test runs that were killed."""
    parent = testbeds.DEFAULT_STATE / testbeds.FOLDER
    for folder in parent.glob("tqt-*") if parent.is_dir() else ():
        owner = folder.name.removeprefix("tqt-")
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            testbeds.down(folder.name)
