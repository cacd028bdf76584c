"""Starts sshd on a cluster's server, and returns when it takes connections: it goes into the background before that."""

from __future__ import annotations

from pathlib import Path

from container.testbed import Testbed, run_on

_WITHIN_S = 60.0
_START = """rm -f /run/sshd.pid
/usr/sbin/sshd
until [ -e /run/sshd.pid ]; do sleep 0.1; done"""
"""sshd writes this file once it listens."""


def start_sshd(testbed: Testbed) -> None:
    """Start it by the host's own configuration."""
    start = ["sh", "-e", "-c", _START]
    run_on(testbed, "server", start, timeout_s=_WITHIN_S, cwd=Path("/")).demand_success()
