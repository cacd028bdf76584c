"""A crash of a cluster's server, and its start again: every process of the host ends at once, its files stay.

The kernel is the machine's and does not crash, so what was written and not synced is not lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from container import testbed as testbeds
from container.centre.start_sshd import start_sshd
from container.run_program import Finished
from container.slurm.daemons import start_munge
from container.testbed import Testbed, run_on
from container.testbed_spec import Host

_STEP_S = 60.0
_KILL_AND_WAIT = "kill -KILL -1; set -- /proc/[0-9]*; while [ $# -gt 2 ]; do sleep 0.1; set -- /proc/[0-9]*; done"
"""Until the host has its first process and this shell alone: what is killed takes a while to be gone."""


def crash_server(testbed: Testbed) -> None:
    """End all processes of the server's host but its first, which holds the namespaces."""
    # The shell is spared by kill itself, and so is nsenter, which is none of the host's processes.
    run_on(testbed, "server", ["sh", "-c", _KILL_AND_WAIT], cwd=Path("/"), timeout_s=_STEP_S).demand_success()


def start_crashed_server(testbed: Testbed) -> None:
    """Start sshd and the scheduler again; returns when the scheduler answers. Passes of migration are not started."""
    start_sshd(testbed)
    spec = testbed.spec
    if spec.scheduler == "pbs":
        for daemon in ("pbs_comm", "pbs_sched"):
            _as_root(testbed, f"{spec.pbs_exec}/sbin/{daemon}")
    else:
        start_munge(testbed.folder / spec.server.name / "munge", spec.server, partial(_run_on_host, testbed))
    testbeds.start_server(testbed)


def _as_root(testbed: Testbed, *argv: str) -> None:
    run_on(testbed, "server", argv, timeout_s=_STEP_S, cwd=Path("/")).demand_success()


def _run_on_host(testbed: Testbed, host: Host, argv: Sequence[str], *, timeout_s: float, stdin: str = "") -> Finished:
    return run_on(testbed, host.name, argv, timeout_s=timeout_s, stdin=stdin, cwd=Path("/"))
