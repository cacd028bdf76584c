"""Tests of a real PBS server: a private testbed for each worker of the run, and ``pbs``, the same one swept clean.

Any worker may run any test; only those that share something dear besides go to one worker.

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
from xdist.scheduler import LoadScopeScheduling

from container import testbed as testbeds
from container.cli import list_own_folders
from container.engines.engine_interface import ENGINES
from container.hosts.machine_and_host_requirements import find_pbs_exec, find_shortcomings
from container.testbed_spec import TestbedError, TestbedSpec
from tests.clean_environment_for_tests import for_testbeds
from tests.pbs.cluster import PbsCluster

HERE = Path(__file__).parent
OWN_TESTBED = ("test_multi_vnode_hosts.py", "test_vnode_limits_and_placement_sets_as_pbs_sched.py")
"""The files whose tests share a testbed of another shape."""
CENTRES = f"{HERE.name}/centre/"
"""The folder of tests whose files share a centre of several testbeds."""
TORQUE = "tests/torque/server/"
"""The folder of tests that share one testbed of Torque, where they are run beside these."""
FIRST_WORKERS = 4
"""How many workers start at once. Each further one waits until the machine has idle time, as it has once the parts of
`make everything` that compute are over: tests that share two cores with too many others are late."""
LATEST_START_S = 1500.0
LOOK_S = 10.0
IDLE_SHARE = 0.25
"""A machine has idle time if at least this share of its cores' time is idle over ``LOOK_S``."""
SESSION_ENGINE = os.environ.get("PBSTEER_ENGINE", "netns")


class Spread(LoadScopeScheduling):  # type: ignore[misc] # xdist has no types
    """Gives each test to the next worker that is idle; the tests of an engine other than the session's, and those of a
    file with a testbed for all of them, to one worker, and those first."""

    def _split_scope(self, nodeid: str) -> str:
        for engine in ENGINES:
            if engine != SESSION_ENGINE and f"[{engine}" in nodeid:
                return engine
        file, _, _ = nodeid.partition("::")
        if file.startswith(TORQUE):
            return TORQUE
        return file if file.endswith(OWN_TESTBED) or CENTRES in file else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spread:
    return Spread(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    if len(ours) == len(items):
        # The slowest first, so that at the end no worker is busy with one while the others have nothing left to do.
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)
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
    if worker_id != "master" and int(worker_id[2:]) >= FIRST_WORKERS:
        wait_for_idle_time(int(worker_id[2:]) - FIRST_WORKERS + 1)
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
    """Wait until the machine has idle time at so many looks in a row, but not for ever. The next worker needs one look
    more than this one, so that it sees what this one takes."""
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
    """How long all cores were idle since the machine started, and how long that is, in ticks."""
    first, *_ = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    user, nice, system, idle, iowait, *others = (int(word) for word in first.split()[1:9])
    return idle + iowait, user + nice + system + idle + iowait + sum(others)


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
