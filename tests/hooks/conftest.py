"""What tests of hooks stand on: a qmgr that remembers, with its server's folder; and bundles, run by each Python.

These are this Python, the host's own, and a Python 3.9 where the host has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.store.state_files import State
from tests.hooks.fake_qmgr import FakeQmgr
from tests.hooks.run_bundled_hook import Hook, find_pythons
from tests.hooks.stand_in import pbs_ifl


@pytest.fixture
def qmgr(tmp_path: Path) -> FakeQmgr:
    return FakeQmgr(tmp_path)


@pytest.fixture
def deployment(tmp_path: Path, qmgr: FakeQmgr) -> Deployment:
    return Deployment(str(tmp_path), qmgr)


@pytest.fixture(params=find_pythons(), ids=lambda python: Path(python).name)
def hook(request: pytest.FixtureRequest, tmp_path: Path) -> Hook:
    return Hook(request.param, tmp_path)


@pytest.fixture
def state(tmp_path: Path) -> State:
    """PBS_HOME/pbsteer, empty."""
    made = State(tmp_path / "pbsteer")
    with made.locked():
        pass
    return made


@pytest.fixture
def state_of_pass(state: State) -> Iterator[State]:
    """The same, locked as a pass locks it, beside a server that nothing was asked of yet."""
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    with state.locked():
        yield state
