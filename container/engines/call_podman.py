"""Calls podman: the program, the limits that it may request on this machine, and hints on its error messages.

Nothing else of podman's configuration is changed: runtime, cgroup manager and registries are containers.conf's.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path

from container.run_program import Finished, run
from container.testbed_spec import TestbedError

_TIMEOUT_S = 60.0
_CAP_SYS_RESOURCE = 24
_MODEST_LIMITS = {"nofile": (resource.RLIMIT_NOFILE, 1024), "nproc": (resource.RLIMIT_NPROC, 4096)}

_HINTS = {
    "rlimit": "containers.conf asks for higher limits than this machine allows: set default_ulimits there",
    "cgroup": 'cgroup_manager = "cgroupfs" in containers.conf may help',
    "systemd": 'cgroup_manager = "cgroupfs" and events_logger = "file" in containers.conf may help',
    "netavark": "podman's networks need Debian's packages netavark, aardvark-dns and iptables",
    "crun": "podman's containers need a runtime: Debian's package crun or runc",
    "subnet": "another network has this testbed's addresses; a testbed of another --name has others",
    "already in use": "another container has this name; give the testbed another --name",
}
"""Part of an error message of podman -> what may help; the first that matches is shown."""


def call_podman(argv: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> Finished:
    """Run ``podman ARGV``, which must succeed; `TestbedError` with podman's message, and with what may help.

    It gets the caller's environment, which may say where podman's configuration is.
    """
    done = try_podman(argv, timeout_s=timeout_s)
    try:
        return done.demand_success()
    except TestbedError as error:
        message = (done.stderr or done.stdout).lower()
        hints = [hint for words, hint in _HINTS.items() if words in message]
        raise TestbedError(f"{error}{'; ' + hints[0] if hints else ''}") from error


def try_podman(argv: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> Finished:
    """Run ``podman ARGV`` to its end, whatever its status; `TestbedError` if it does not end in time."""
    return run(["podman", "--log-level=error", *argv], timeout_s=timeout_s, env=os.environ, called=["podman", *argv])


def limit_options() -> list[str]:
    """Options that keep podman from requesting more open files and processes than it may.

    Podman raises both limits for its containers. A root that may not raise them (no CAP_SYS_RESOURCE, as in many
    containers) needs values within its own. Elsewhere podman and containers.conf decide, and there are no options.
    """
    if _may_raise_limits():
        return []
    options = []
    for name, (kind, modest) in _MODEST_LIMITS.items():
        hard = resource.getrlimit(kind)[1]
        value = modest if hard == resource.RLIM_INFINITY else min(hard, modest)
        options += ["--ulimit", f"{name}={value}:{value}"]
    return options


def _may_raise_limits() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_RESOURCE & 1)
    return True
