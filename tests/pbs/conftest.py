"""Tests of a real PBS server: a private testbed for each worker of the run, and ``pbs``, the same one swept clean.
`give_tests_to_testbeds` says which worker runs which test.

Its engine is $PBSTEER_ENGINE, by default netns. Where no testbed can run (not root, no installed PBS) every test in
this folder is skipped, with the reason; so is a test of an engine that cannot, unless the variable names that engine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest

from container import testbed as testbeds
from container.cli import list_own_folders
from container.engines.engine_interface import ENGINES
from container.hosts.machine_and_host_requirements import find_pbs_exec, find_shortcomings
from container.testbed_spec import TestbedError, TestbedSpec
from tests.clean_environment_for_tests import for_testbeds
from tests.pbs.cluster import PbsCluster
from tests.pbs.give_tests_to_testbeds import FOLDERS, SESSION_ENGINE, LongestFirst, count_looks, put_longest_first

HERE = Path(__file__).parent
LATEST_START_S = 1500.0
LOOK_S = 10.0
IDLE_SHARE = 0.25
"""A machine has time for a further testbed if at least this share of its cores' time is idle over ``LOOK_S``. Programs
of lower priority count as idle: they give way."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst:
    return LongestFirst(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    if all(item.nodeid.startswith(FOLDERS) for item in items):
        items[:] = put_longest_first(items)
    shortcomings = find_shortcomings(None, for_testbeds(os.environ), SESSION_ENGINE) if ours else None
    if shortcomings is not None:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=shortcomings))


@pytest.fixture(scope="session")
def pbs_exec() -> str:
    """The installed PBS that the testbeds run."""
    return find_pbs_exec(None, for_testbeds(os.environ))


@pytest.fixture(scope="session")
def testbed_of(
    pbs_exec: str, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[Callable[[str], PbsCluster]]:
    """Engine -> its testbed with three MoMs of eight cores, started when first asked for; or a skip with the reason.

    It is named for this process so that test runs do not meet. Its hosts see the project and the tests' own folders.
    """
    wait_for_idle_time(count_looks(worker_id))
    remove_orphans()
    started: dict[str, PbsCluster] = {}
    refused: dict[str, str] = {}
    shares = (*list_own_folders(), str(tmp_path_factory.getbasetemp().resolve()))

    def find(engine: str) -> PbsCluster:
        if engine not in (*started, *refused):
            spec = TestbedSpec(name=name_testbed(engine), pbs_exec=pbs_exec, engine=engine)
            try:
                ENGINES[engine].prepare(spec, lambda _: None)
            except TestbedError as error:
                if engine == os.environ.get("PBSTEER_ENGINE"):
                    raise
                refused[engine] = f"engine {engine}: {error}"
            else:
                built, _ = testbeds.up(replace(spec, shares=shares) if engine == "podman" else spec)
                started[engine] = PbsCluster(built)
        if engine in refused:
            pytest.skip(refused[engine])
        return started[engine]

    try:
        yield find
    finally:
        for engine in ENGINES:
            testbeds.down(name_testbed(engine))


def wait_for_idle_time(looks: int) -> None:
    """Wait until the machine has time for a testbed at so many looks in a row, but not for ever."""
    deadline_s = time.monotonic() + LATEST_START_S
    idle_looks = 0
    before = read_core_time()
    while idle_looks < looks and time.monotonic() < deadline_s:
        time.sleep(LOOK_S)
        now = read_core_time()
        idle, total = (late - early for early, late in zip(before, now))
        idle_looks = idle_looks + 1 if idle >= IDLE_SHARE * total else 0
        before = now


def read_core_time() -> tuple[int, int]:
    """How long all cores were idle or had only programs of lower priority, and how long the machine is up, in ticks."""
    first, *_ = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    user, nice, system, idle, iowait, *others = (int(word) for word in first.split()[1:9])
    return idle + iowait + nice, user + nice + system + idle + iowait + sum(others)


def name_testbed(engine: str) -> str:
    return f"pbst-{os.getpid()}" + ("" if engine == "netns" else f"-{engine}")


@pytest.fixture(scope="session")
def testbed(testbed_of: Callable[[str], PbsCluster]) -> PbsCluster:
    """The session's testbed, of the engine that the session is run with."""
    return testbed_of(SESSION_ENGINE)


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
