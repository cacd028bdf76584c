"""Slurm's daemons on the testbed's hosts: munge on each, the controller on the server's host, slurmd on the others.

Hosts are reached only through the function `RunOnHost`. The keys and slurm.conf are in each host's own /etc, and all
state is below the testbed's folder.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import Any, Callable

from container.pbs.daemons import RunOnHost
from container.slurm.slurm_conf import CONF, STATE, write_slurm_conf
from container.testbed_spec import Host, TestbedError, TestbedSpec

MUNGE_USER = "munge"
_KEY = Path("/etc/munge/munge.key")
_DAEMON_TIMEOUT_S = 60.0
_FREE_TIMEOUT_S = 90.0
_PBS_STATES = {"idle": "free", "mix": "free", "alloc": "free"}
"""State of a node as sinfo abbreviates it -> the word of PBS for a vnode that is up."""


def lay_out_home(spec: TestbedSpec, folder: Path, host: Host) -> None:
    """Make ``host``'s folder of state, and slurm.conf in its own /etc; ``folder`` is the testbed's."""
    place = folder / host.name
    for name in ("state", "spool"):
        (place / STATE / name).mkdir(parents=True, exist_ok=True)
    (place / "munge").mkdir(mode=0o700, exist_ok=True)
    conf = place / CONF.relative_to("/")
    conf.parent.mkdir(exist_ok=True)
    conf.write_text(write_slurm_conf(spec, folder))


def write_munge_key(spec: TestbedSpec, folder: Path) -> None:
    """Give all hosts of the testbed one new munge key, and munge's user its files."""
    key = secrets.token_bytes(1024)
    for host in spec.hosts:
        place = folder / host.name
        owner = (place / "etc" / "munge").stat()
        path = place / _KEY.relative_to("/")
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
            file.write(key)
        for each in (path, place / "munge"):
            os.chown(each, owner.st_uid, owner.st_gid)


def start_cluster(spec: TestbedSpec, folder: Path, run_on: RunOnHost, say: Callable[[str], None]) -> None:
    """Start Slurm on hosts that are laid out; returns when every node is free."""
    write_munge_key(spec, folder)
    say("starting munge, the controller and the nodes' daemons")
    for host in spec.hosts:
        start_munge(folder / host.name / "munge", host, run_on)
    run_on(spec.server, ["slurmctld"], timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    for node in spec.mom_hosts:
        run_on(node, ["slurmd"], timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    say("waiting for the nodes")
    _wait_until_free(spec, run_on)


def start_munge(place: Path, host: Host, run_on: RunOnHost) -> None:
    """Start munge on a host that has the key; ``place`` is its folder of state."""
    run_on(host, ["install", "-d", "-o", MUNGE_USER, "-m", "0755", "/run/munge"], timeout_s=10.0).demand_success()
    as_munge = ["setpriv", "--reuid", MUNGE_USER, "--regid", MUNGE_USER, "--clear-groups", "--"]
    files = {"key-file": _KEY, "log-file": place / "munged.log", "seed-file": place / "seed"}
    options = [f"--{name}={path}" for name, path in files.items()]
    own = ["--pid-file=/run/munge/munged.pid", "--socket=/run/munge/munge.socket.2"]
    run_on(host, [*as_munge, "munged", *options, *own], timeout_s=_DAEMON_TIMEOUT_S).demand_success()


def server_answers(spec: TestbedSpec, run_on: RunOnHost) -> bool:
    """Whether the controller answers ``scontrol ping`` within ten seconds."""
    try:
        return " is UP" in run_on(spec.server, ["scontrol", "ping"], timeout_s=10.0).stdout
    except TestbedError:
        return False


def read_vnodes(spec: TestbedSpec, run_on: RunOnHost) -> dict[str, Any]:
    """Node name -> its state and cores, in the form of PBS's vnodes; `TestbedError` if the controller does not
    answer.
    """
    argv = ["sinfo", "--noheader", "--Node", "--responding", "--format=%N %t %c"]
    answer = run_on(spec.server, argv, timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    found = {}
    for line in answer.stdout.splitlines():
        name, state, cores = line.split()
        found[name] = {"state": _PBS_STATES.get(state, state), "resources_available": {"ncpus": int(cores)}}
    return found


def _wait_until_free(spec: TestbedSpec, run_on: RunOnHost) -> None:
    wanted = {node.name for node in spec.mom_hosts}
    deadline = time.monotonic() + _FREE_TIMEOUT_S
    while True:
        nodes = read_vnodes(spec, run_on) if server_answers(spec, run_on) else {}
        missing = sorted(name for name in wanted if nodes.get(name, {}).get("state") != "free")
        if not missing:
            return
        if time.monotonic() > deadline:
            states = ", ".join(f"{name} ({nodes.get(name, {}).get('state', 'absent')})" for name in missing[:5])
            late = f"are not free after {_FREE_TIMEOUT_S:g} s"
            raise TestbedError(f"{len(missing)} of {len(wanted)} nodes {late}: {states}")
        time.sleep(0.2)


def stop_server(spec: TestbedSpec, _folder: Path, run_on: RunOnHost) -> None:
    """Stop the controller; jobs go on running. Safe to repeat."""
    if server_answers(spec, run_on):
        run_on(spec.server, ["scontrol", "shutdown", "slurmctld"], timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    deadline = time.monotonic() + _DAEMON_TIMEOUT_S
    while run_on(spec.server, ["pgrep", "-x", "slurmctld"], timeout_s=_DAEMON_TIMEOUT_S).status == 0:
        if time.monotonic() > deadline:
            raise TestbedError(f"slurmctld on {spec.server.name} still runs {_DAEMON_TIMEOUT_S:g} s after its shutdown")
        time.sleep(0.1)


def start_server(spec: TestbedSpec, run_on: RunOnHost) -> None:
    """Start the controller again; returns when it answers."""
    run_on(spec.server, ["slurmctld"], timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    deadline = time.monotonic() + _DAEMON_TIMEOUT_S
    while not server_answers(spec, run_on):
        if time.monotonic() > deadline:
            raise TestbedError(f"slurmctld on {spec.server.name} does not answer after {_DAEMON_TIMEOUT_S:g} s")
        time.sleep(0.1)
