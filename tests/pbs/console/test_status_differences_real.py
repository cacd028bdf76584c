"""The reader's differences on a real server: after random changes the patched picture equals one that is read anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]
STEPS = 25


@pytest.mark.parametrize(("history", "seed"), [("False", 1), ("True", 2)])
def test_a_patched_picture_equals_one_read_anew(pbs: PbsCluster, history: str, seed: int) -> None:
    pbs.qmgr(f"set server job_history_enable = {history}")
    before = set(Path("/tmp").glob("STDIN.*"))  # noqa: S108 - the hosts' is the machine's
    argv = [sys.executable, "-m", "tests.pbs.console.compare_differences_with_full_read", str(seed), str(STEPS)]
    done = pbs.run(["env", f"PYTHONPATH={ROOT}", *argv], timeout_s=600.0)
    answer = json.loads(done.demand_success().stdout)
    assert answer["differs"] is None
    assert answer["compared"] > STEPS / 2
    assert len(answer["operations"]) > 8
    assert set(Path("/tmp").glob("STDIN.*")) == before  # noqa: S108
