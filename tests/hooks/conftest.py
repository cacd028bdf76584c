"""What a deployment under test stands on: a qmgr that remembers, with its server's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.deploy import Deployment
from tests.hooks.fake_qmgr import FakeQmgr


@pytest.fixture
def qmgr(tmp_path: Path) -> FakeQmgr:
    return FakeQmgr(tmp_path)


@pytest.fixture
def deployment(tmp_path: Path, qmgr: FakeQmgr) -> Deployment:
    return Deployment(str(tmp_path), qmgr)
