"""PBS on the testbed's hosts: laying out PBS_HOME, starting the daemons, settings, and waiting until vnodes are free.

Hosts are reached only through the function `RunOnHost`, so this module is independent of the engine.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, Protocol

from container.hosts.machine_and_host_requirements import DATA_SERVICE_USER
from container.pbs.pbs_config import (
    CRAY_HOOK,
    ENVIRONMENT,
    HOME_FOLDERS,
    MOM_CONFIG,
    SCHEDULER_FILES,
    write_server_settings,
    write_vnode_definitions,
)
from container.run_program import Finished
from container.testbed_spec import Host, TestbedError, TestbedSpec

SETUID_PROGRAMS = ("sbin/pbs_iff", "sbin/pbs_rcp")
"""The programs of PBS_EXEC that must be setuid root for users' commands; PBS's postinstall makes them so."""

_DAEMON_TIMEOUT_S = 60.0
_DATA_STORE_TIMEOUT_S = 120.0
_DATA_STORE_TRIES = 5
_FREE_TIMEOUT_S = 90.0


class RunOnHost(Protocol):
    """Runs a command as root on a host of the testbed."""

    def __call__(self, host: Host, argv: Sequence[str], *, timeout_s: float, stdin: str = "") -> Finished:
        """Run ``argv`` on ``host`` within ``timeout_s``."""


def lay_out_home(pbs_exec: Path, pbs_home: Path, host: Host) -> None:
    """Make ``host``'s PBS_HOME, as pbs_postinstall would, but without registering with the machine's init system."""
    for folder, mode in HOME_FOLDERS:
        path = pbs_home / folder
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
    (pbs_home / "pbs_environment").write_text(ENVIRONMENT)
    if not host.is_server:
        (pbs_home / "mom_priv" / "config").write_text(MOM_CONFIG)
        return
    for source in (pbs_exec / "lib" / "python" / "altair" / "pbs_hooks").glob("*"):
        if not source.name.startswith(CRAY_HOOK):
            shutil.copy2(source, pbs_home / "server_priv" / "hooks")
    for source_name, target in SCHEDULER_FILES.items():
        shutil.copy(pbs_exec / "etc" / source_name, pbs_home / "sched_priv" / target)


def check_installation(spec: TestbedSpec, host: Host, run_on: RunOnHost) -> None:
    """Refuse a host on which PBS's programs lack a library or PostgreSQL's are not found; raises `TestbedError`."""
    daemons = ("pbs_server.bin", "pbs_sched", "pbs_comm", "pbs_mom")
    linked = run_on(host, ["ldd", *(f"{spec.pbs_exec}/sbin/{name}" for name in daemons)], timeout_s=_DAEMON_TIMEOUT_S)
    missing = sorted({line.split()[0] for line in linked.stdout.splitlines() if line.endswith("=> not found")})
    if missing:
        raise TestbedError(
            f"the PBS in {spec.pbs_exec} needs {', '.join(missing)}, which host {host.name} does not have: it was made"
            " for another system than the host's"
        )
    found = run_on(host, ["pg_config", "--bindir"], timeout_s=_DAEMON_TIMEOUT_S)
    if found.status != 0:
        raise TestbedError(
            f"pg_config on host {host.name}, by which PBS finds PostgreSQL, fails: {found.stderr.strip()[:200]}"
        )


def start_cluster(spec: TestbedSpec, _folder: Path, run_on: RunOnHost, say: Callable[[str], None]) -> None:
    """Start PBS on hosts whose PBS_HOME is laid out; returns when the server answers and every vnode is free."""
    check_installation(spec, spec.server, run_on)
    start_server_host(spec, run_on, say)
    for mom in spec.mom_hosts:
        define_vnodes(spec, mom, run_on)
        start_mom(spec, mom, run_on)
    configure_server(spec, run_on)
    say("waiting for the vnodes")
    wait_until_free(spec, run_on)


def start_server_host(spec: TestbedSpec, run_on: RunOnHost, say: Callable[[str], None]) -> None:
    """Start the data store, the comm, the scheduler and the server; returns when the server answers."""
    socket_folder = ["install", "-d", "-o", DATA_SERVICE_USER, "-m", "2775", "/run/postgresql"]
    run_on(spec.server, socket_folder, timeout_s=10.0).demand_success()
    say("making the server's data store")
    _make_data_store(spec, run_on)
    say("starting the server, the scheduler and the MoMs")
    for daemon in ("pbs_comm", "pbs_sched"):
        run_on(spec.server, [f"{spec.pbs_exec}/sbin/{daemon}"], timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    start_server(spec, run_on)


def _make_data_store(spec: TestbedSpec, run_on: RunOnHost) -> None:
    """Make the server's data store. pbs_habitat does not wait until PostgreSQL answers, only until its watchdog holds
    its lock; on a slow host it then fails and removes what it made, so it is run again, up to ``_DATA_STORE_TRIES``
    times.
    """
    habitat = [f"{spec.pbs_exec}/libexec/pbs_habitat"]
    for _ in range(_DATA_STORE_TRIES):
        made = run_on(spec.server, habitat, timeout_s=_DATA_STORE_TIMEOUT_S)
        if made.status == 0 or "Error creating PBS datastore" not in made.stdout:
            break
    made.demand_success()


def define_vnodes(spec: TestbedSpec, mom: Host, run_on: RunOnHost) -> None:
    """Give its vnodes to a MoM that has not run yet."""
    insert = [f"{spec.pbs_exec}/sbin/pbs_mom", "-s", "insert", "vnodes", "/dev/stdin"]
    definitions = write_vnode_definitions(spec, mom)
    run_on(mom, insert, timeout_s=_DAEMON_TIMEOUT_S, stdin=definitions).demand_success()


def start_mom(spec: TestbedSpec, mom: Host, run_on: RunOnHost) -> None:
    """Start a MoM; it connects to the server by itself."""
    run_on(mom, [f"{spec.pbs_exec}/sbin/pbs_mom"], timeout_s=_DAEMON_TIMEOUT_S).demand_success()


def configure_server(spec: TestbedSpec, run_on: RunOnHost) -> None:
    """Give a fresh server the testbed's settings and MoMs."""
    qmgr = [f"{spec.pbs_exec}/bin/qmgr"]
    run_on(spec.server, qmgr, timeout_s=_DAEMON_TIMEOUT_S, stdin=write_server_settings(spec)).demand_success()


def start_server(spec: TestbedSpec, run_on: RunOnHost) -> None:
    """Start pbs_server, and with it its data store; returns when it answers."""
    run_on(spec.server, [f"{spec.pbs_exec}/sbin/pbs_server"], timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    deadline = time.monotonic() + _DAEMON_TIMEOUT_S
    while not server_answers(spec, run_on):
        if time.monotonic() > deadline:
            raise TestbedError(f"the PBS server on {spec.server.name} does not answer after {_DAEMON_TIMEOUT_S:g} s")
        time.sleep(0.1)


def stop_server(spec: TestbedSpec, folder: Path, run_on: RunOnHost) -> None:
    """Stop pbs_server and its data store, leaving jobs, MoMs and scheduler alone; returns when it has ended."""
    if server_answers(spec, run_on):
        qterm = [f"{spec.pbs_exec}/bin/qterm", "-t", "quick"]
        run_on(spec.server, qterm, timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    pattern = ["pgrep", "-x", "pbs_server.bin"]
    deadline = time.monotonic() + _DAEMON_TIMEOUT_S
    while run_on(spec.server, pattern, timeout_s=_DAEMON_TIMEOUT_S).status == 0:
        if time.monotonic() > deadline:
            raise TestbedError(
                f"the PBS server on {spec.server.name} still runs {_DAEMON_TIMEOUT_S:g} s after qterm"
                f" (its log: server_logs in its PBS_HOME, below {folder})"
            )
        time.sleep(0.1)


def server_answers(spec: TestbedSpec, run_on: RunOnHost) -> bool:
    """Whether the PBS server answers ``qstat -B`` within ten seconds."""
    try:
        return run_on(spec.server, [f"{spec.pbs_exec}/bin/qstat", "-B"], timeout_s=10.0).status == 0
    except TestbedError:
        return False


def read_vnodes(spec: TestbedSpec, run_on: RunOnHost) -> dict[str, Any]:
    """The output of ``pbsnodes -av``: vnode name -> its attributes. `TestbedError` if the server does not answer."""
    argv = [f"{spec.pbs_exec}/bin/pbsnodes", "-a", "-v", "-F", "json"]
    answer = run_on(spec.server, argv, timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    nodes: dict[str, Any] = json.loads(answer.stdout).get("nodes", {})
    return nodes


def wait_until_free(
    spec: TestbedSpec,
    run_on: RunOnHost,
    timeout_s: float = _FREE_TIMEOUT_S,
    read: Callable[[TestbedSpec, RunOnHost], dict[str, Any]] = read_vnodes,
) -> None:
    """Return when all of the testbed's vnodes, as ``read`` finds them, are free with their cores; `TestbedError` names
    those that are not.
    """
    wanted = [vnode for mom in spec.mom_hosts for vnode in spec.vnode_names(mom)]
    deadline = time.monotonic() + timeout_s
    while True:
        vnodes = read(spec, run_on)
        missing = [name for name in wanted if not _is_free(vnodes.get(name, {}), spec.cores)]
        if not missing:
            return
        if time.monotonic() > deadline:
            states = ", ".join(f"{name} ({vnodes.get(name, {}).get('state', 'absent')})" for name in missing[:5])
            raise TestbedError(f"{len(missing)} of {len(wanted)} vnodes are not free after {timeout_s:g} s: {states}")
        time.sleep(0.2)


def _is_free(vnode: dict[str, Any], cores: int) -> bool:
    return vnode.get("state") == "free" and vnode.get("resources_available", {}).get("ncpus") == cores
