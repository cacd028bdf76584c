"""Torque's daemons on the testbed's hosts: trqauthd on each, the server and pbs_sched on one, MoMs on the others.

Hosts are reached only through the function `RunOnHost`. Torque's programs have the paths of their home and of
trqauthd's socket (in /tmp) built in, so every host has its own /var/spool and /tmp.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable

from container.pbs.daemons import RunOnHost, wait_until_free
from container.run_program import Finished
from container.testbed_spec import Host, TestbedError, TestbedSpec
from container.torque.torque_config import (
    ENVIRONMENT,
    HOME_FOLDERS,
    SCHEDULER_CONFIG,
    write_mom_config,
    write_server_settings,
)

_DAEMON_TIMEOUT_S = 60.0
_SOCKET = "/tmp/trqauthd-unix"  # noqa: S108 - the path is built into Torque


def lay_out_home(spec: TestbedSpec, home: Path, host: Host) -> None:
    """Make ``host``'s home of Torque, as Torque's installation would."""
    for folder, mode in HOME_FOLDERS:
        path = home / folder
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
    (home / "pbs_environment").write_text(ENVIRONMENT)
    (home / "server_name").write_text(f"{spec.server.name}\n")
    if host.is_server:
        (home / "sched_priv" / "sched_config").write_text(SCHEDULER_CONFIG)
    else:
        (home / "mom_priv" / "config").write_text(write_mom_config(spec))


def start_cluster(spec: TestbedSpec, _folder: Path, run_on: RunOnHost, say: Callable[[str], None]) -> None:
    """Start Torque on hosts whose homes are laid out; returns when the server answers and every node is free."""
    say("starting trqauthd, the server, its scheduler and the MoMs")
    for host in spec.hosts:
        _start(spec, host, "trqauthd", run_on).demand_success()
        _wait(lambda host=host: _has_socket(host, run_on), f"trqauthd on {host.name} has no socket")  # type: ignore[misc]
    # The program asks whether it may remove what is there.
    _start(spec, spec.server, "pbs_server", run_on, "-t", "create", stdin="y\n").demand_success()
    _wait_for_answer(spec, run_on)
    qmgr = [f"{spec.pbs_exec}/bin/qmgr"]
    run_on(spec.server, qmgr, timeout_s=_DAEMON_TIMEOUT_S, stdin=write_server_settings(spec)).demand_success()
    _start(spec, spec.server, "pbs_sched", run_on).demand_success()
    for mom in spec.mom_hosts:
        _start(spec, mom, "pbs_mom", run_on).demand_success()
    say("waiting for the nodes")
    wait_until_free(spec, run_on, read=read_vnodes)


def server_answers(spec: TestbedSpec, run_on: RunOnHost) -> bool:
    """Whether the Torque server answers ``qstat -B`` within ten seconds."""
    try:
        return run_on(spec.server, [f"{spec.pbs_exec}/bin/qstat", "-B"], timeout_s=10.0).status == 0
    except TestbedError:
        return False


def read_vnodes(spec: TestbedSpec, run_on: RunOnHost) -> dict[str, Any]:
    """Node name -> its state and slots, in the form of PBS's vnodes; `TestbedError` if the server does not answer."""
    argv = [f"{spec.pbs_exec}/bin/pbsnodes", "-a"]
    answer = run_on(spec.server, argv, timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    nodes: dict[str, Any] = {}
    name = ""
    for line in answer.stdout.splitlines():
        key, equals, value = line.strip().partition(" = ")
        if line and not line[0].isspace():
            name = line.strip()
            nodes[name] = {"resources_available": {"ncpus": 0}}
        elif equals and key == "state":
            nodes[name]["state"] = value
        elif equals and key == "np" and value.isdigit():
            nodes[name]["resources_available"]["ncpus"] = int(value)
    return nodes


def stop_server(spec: TestbedSpec, _folder: Path, run_on: RunOnHost) -> None:
    """Stop pbs_server; jobs, MoMs and scheduler go on. Returns when it has ended; safe to repeat."""
    if server_answers(spec, run_on):
        qterm = [f"{spec.pbs_exec}/bin/qterm", "-t", "quick"]
        run_on(spec.server, qterm, timeout_s=_DAEMON_TIMEOUT_S).demand_success()
    running = ["pgrep", "-x", "pbs_server"]
    _wait(
        lambda: run_on(spec.server, running, timeout_s=_DAEMON_TIMEOUT_S).status != 0,
        f"the Torque server on {spec.server.name} still runs after qterm",
    )


def start_server(spec: TestbedSpec, run_on: RunOnHost) -> None:
    """Start pbs_server again, with the jobs that it has; returns when it answers."""
    _start(spec, spec.server, "pbs_server", run_on).demand_success()
    _wait_for_answer(spec, run_on)


def _start(spec: TestbedSpec, host: Host, daemon: str, run_on: RunOnHost, *options: str, stdin: str = "") -> Finished:
    """Start a daemon, which would keep the pipes of its output open, with its output in its own /tmp."""
    words = ["sh", "-c", 'log=$1; shift; exec "$@" > "$log" 2>&1', "start", f"/tmp/{daemon}.out"]  # noqa: S108
    return run_on(host, [*words, f"{spec.pbs_exec}/sbin/{daemon}", *options], timeout_s=_DAEMON_TIMEOUT_S, stdin=stdin)


def _has_socket(host: Host, run_on: RunOnHost) -> bool:
    return run_on(host, ["test", "-S", _SOCKET], timeout_s=_DAEMON_TIMEOUT_S).status == 0


def _wait_for_answer(spec: TestbedSpec, run_on: RunOnHost) -> None:
    _wait(lambda: server_answers(spec, run_on), f"the Torque server on {spec.server.name} does not answer")


def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + _DAEMON_TIMEOUT_S
    while not is_so():
        if time.monotonic() > deadline:
            raise TestbedError(f"{otherwise} ({_DAEMON_TIMEOUT_S:g} s)")
        time.sleep(0.1)
