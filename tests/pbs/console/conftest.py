"""What consoles in a real terminal keep, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pbs.cluster import PbsCluster


@pytest.fixture
def state(pbs: PbsCluster) -> Path:
    """Where consoles of this test keep what they keep; on every host by the same path, and gone with the testbed."""
    folder = pbs.server_home / "console"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    return folder
