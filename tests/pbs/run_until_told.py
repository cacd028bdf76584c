"""A job that runs until its test says that it may end: no time that a busy machine could overrun."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Callable

from tests.pbs.cluster import PbsCluster


def run_until_told(pbs: PbsCluster, user: str) -> tuple[Sequence[str], Callable[[], None]]:
    """A job's command for the user, and what makes the jobs that run it end well."""
    told = pbs.testbed.home(user) / f"may-end-{os.urandom(4).hex()}"
    return ("/bin/sh", "-c", f"until [ -e {told} ]; do sleep 0.2; done"), told.touch
