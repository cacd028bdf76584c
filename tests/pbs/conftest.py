"""Tests of a real PBS server: one private testbed for the session, and ``pbs``, the same one swept clean for each test.

Where no testbed can run (not root, no installed PBS) every test in this folder is skipped, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from container import testbed as testbeds
from container.requirements import find_pbs_exec, find_shortcomings
from container.spec import TestbedSpec
from tests.pbs.cluster import PbsCluster

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    shortcomings = find_shortcomings(None, os.environ) if ours else None
    if shortcomings is not None:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=shortcomings))


@pytest.fixture(scope="session")
def pbs_exec() -> str:
    """The installed PBS that the testbeds run."""
    return find_pbs_exec(None, os.environ)


@pytest.fixture(scope="session")
def testbed(pbs_exec: str) -> Iterator[PbsCluster]:
    """A testbed with three MoMs of eight cores, named for this process so that test runs do not meet."""
    remove_orphans()
    name = f"pbst-{os.getpid()}"
    try:
        built, _ = testbeds.up(TestbedSpec(name=name, pbs_exec=pbs_exec))
        yield PbsCluster(built)
    finally:
        testbeds.down(name)


@pytest.fixture
def pbs(testbed: PbsCluster) -> PbsCluster:
    """The session's testbed with no jobs, hooks, limits or settings of an earlier test."""
    testbed.reset()
    return testbed


def remove_orphans() -> None:
    """Take down the testbeds of test runs that were killed."""
    parent = testbeds.DEFAULT_STATE / testbeds.FOLDER
    for folder in parent.glob("pbst-*") if parent.is_dir() else ():
        owner = folder.name.removeprefix("pbst-").partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            testbeds.down(folder.name)
