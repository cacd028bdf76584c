"""The netns engine: hosts made of Linux namespaces, which the kernel ends with their sleeping first process.

Nothing gets a name on the machine: no link, no bridge, no mount, no file in /etc. The bridge between the hosts is in
the server's network namespace.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Callable

from container.hosts.find_and_enter_running_host import (
    FIRST_PROCESS,
    cover_paths,
    enter_argv,
    find_host_process,
    is_first_in_namespace,
    marked_processes,
    read_if_there,
    step,
    write_marks,
)
from container.hosts.machine_and_host_requirements import check_host
from container.run_program import SYSTEM_PATH, run
from container.testbed_spec import Host, TestbedError, TestbedSpec

_STEP_TIMEOUT_S = 20.0
_UNSHARE_GRACE_S = 1.0
_UNSHARE = ("unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def prepare(spec: TestbedSpec, _say: Callable[[str], None]) -> None:
    """Refuse a machine that lacks a program or where root may not make the namespaces; raises `TestbedError`."""
    check_host(Path("/"), "this machine", spec.scheduler)
    tried = run([*_UNSHARE, "true"], timeout_s=_STEP_TIMEOUT_S)
    if tried.status != 0:
        raise TestbedError(
            "this machine does not let root make network, process and mount namespaces"
            f" (in a container, it must be privileged): {tried.stderr.strip()}"
        )


def start_hosts(spec: TestbedSpec, testbed: Path) -> dict[str, int]:
    """Start the testbed's hosts, joined by a network; returns host name -> first process."""
    pids = {host.name: _start_host(testbed, host) for host in spec.hosts}
    _connect_hosts(spec, pids)
    return pids


def _start_host(testbed: Path, host: Host) -> int:
    argv = ["setsid", "--fork", *_UNSHARE, *FIRST_PROCESS]
    marks = {**write_marks(testbed, host), "PATH": SYSTEM_PATH}
    nowhere = subprocess.DEVNULL
    subprocess.run(
        argv, env=marks, cwd="/", stdin=nowhere, stdout=nowhere, stderr=nowhere, check=True, timeout=_STEP_TIMEOUT_S
    )
    deadline = time.monotonic() + _STEP_TIMEOUT_S
    while time.monotonic() < deadline:
        pid = find_host_process(testbed, host)
        if pid is not None and read_if_there(Path(f"/proc/{pid}/comm")) == b"sleep\n":
            return pid
        time.sleep(0.01)
    raise TestbedError(f"host {host.name} did not start within {_STEP_TIMEOUT_S:g} s")


def furnish_host(pid: int, host: Host, covers: Mapping[Path, Path]) -> None:
    """Give a host its name, its own files over the machine's (``covers``), an empty /run and /dev/shm.

    /var/tmp, /run and /dev/shm have the files of qsub's background process, PostgreSQL's socket and its shared memory.
    None of these has the testbed's name, so those of two testbeds, or of a testbed and the machine, would clash.
    """
    cover_paths(pid, covers)
    enter = enter_argv(pid)
    for folder, mode in {"/dev/shm": "1777", "/run": "0755"}.items():  # noqa: S108
        step([*enter, "mount", "-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", folder])
    step([*enter, "hostname", host.name])
    step([*enter, "ip", "link", "set", "lo", "up"])


def _connect_hosts(spec: TestbedSpec, pids: dict[str, int]) -> None:
    """Join all hosts by one bridge inside the server's network namespace, and give each its address.

    ``pids``: host name -> first process. The machine itself gets no link and no route to them.
    """
    server = pids[spec.server.name]
    in_server = ["nsenter", "-t", str(server), "-n", "--", "ip"]
    step([*in_server, "link", "add", "br0", "type", "bridge"])
    step([*in_server, "addr", "add", f"{spec.server.address}/24", "dev", "br0"])
    step([*in_server, "link", "set", "br0", "up"])
    for number, mom in enumerate(spec.mom_hosts, start=1):
        link, peer = f"veth{number}", pids[mom.name]
        step([*in_server, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(peer)])
        step([*in_server, "link", "set", link, "master", "br0", "up"])
        in_mom = ["nsenter", "-t", str(peer), "-n", "--", "ip"]
        step([*in_mom, "addr", "add", f"{mom.address}/24", "dev", "eth0"])
        step([*in_mom, "link", "set", "eth0", "up"])


def kill_hosts(testbed: Path, timeout_s: float = 20.0) -> bool:
    """End every host of the testbed at once, with all that runs on it; returns whether any was running.

    Safe to repeat. `TestbedError` if one is still there after ``timeout_s``.
    """
    start_s = time.monotonic()
    found = False
    while left := [pid for pid, _ in marked_processes(testbed)]:
        found = True
        elapsed_s = time.monotonic() - start_s
        if elapsed_s > timeout_s:
            raise TestbedError(f"testbed in {testbed}: processes {left} did not end within {timeout_s:g} s of SIGKILL")
        # unshare waits for its host's first process, reaps it and ends. If unshare were killed first, the machine's
        # init would have to reap the zombie, and the host's namespace would exist until then.
        firsts = [pid for pid in left if is_first_in_namespace(pid)]
        for pid in firsts or (left if elapsed_s > _UNSHARE_GRACE_S else []):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return found
