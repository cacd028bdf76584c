"""The netns engine: hosts out of Linux namespaces. A host is one sleeping process, the first of its own process,
network, host name, IPC and mount namespaces; all that runs on the host lives in them and, by the kernel, ends with it.

Nothing is named on the machine: no link, no bridge, no mount, no file in /etc. The bridge that joins the hosts is in
the server's network namespace. A host is found by two variables in its first process's environment, so that no list of
process numbers has to be kept, and a crash at any point leaves nothing that cannot be found again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from container.run import SYSTEM_PATH, run
from container.spec import Host, TestbedError, TestbedSpec

_TESTBED = "PBSTEER_TESTBED"
_HOST = "PBSTEER_HOST"
_STEP_TIMEOUT_S = 20.0
_UNSHARE_GRACE_S = 1.0
_UNSHARE = ("unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


def check_namespaces() -> None:
    """Refuse a machine where root may not make the namespaces; raises `TestbedError` with the kernel's words."""
    tried = run([*_UNSHARE, "true"], timeout_s=_STEP_TIMEOUT_S)
    if tried.status != 0:
        raise TestbedError(
            "this machine does not let root make network, process and mount namespaces"
            f" (in a container, it must be privileged): {tried.stderr.strip()}"
        )


def start_host(testbed: Path, host: Host) -> int:
    """Start a host that has nothing yet but its namespaces; returns its first process's number.

    That process ignores SIGCHLD, so orphans on the host are reaped by the kernel.
    """
    argv = ["setsid", "--fork", *_UNSHARE, "env", "--ignore-signal=CHLD", "sleep", "infinity"]
    marks = {_TESTBED: str(testbed), _HOST: host.name, "PATH": SYSTEM_PATH}
    nowhere = subprocess.DEVNULL
    subprocess.run(
        argv, env=marks, cwd="/", stdin=nowhere, stdout=nowhere, stderr=nowhere, check=True, timeout=_STEP_TIMEOUT_S
    )
    deadline = time.monotonic() + _STEP_TIMEOUT_S
    while time.monotonic() < deadline:
        pid = find_host_process(testbed, host)
        if pid is not None and _read(Path(f"/proc/{pid}/comm")) == b"sleep\n":
            return pid
        time.sleep(0.01)
    raise TestbedError(f"host {host.name} did not start within {_STEP_TIMEOUT_S:g} s")


def furnish_host(pid: int, host: Host, etc: Path, var_tmp: Path, covers: dict[Path, Path]) -> None:
    """Give a host its own /etc and /var/tmp from these folders, an empty /run and /dev/shm, and its name.

    ``covers`` maps a file of the machine to the file that the host is to see in its place. /var/tmp, /run and /dev/shm
    are where qsub's background process, PostgreSQL's socket and its shared memory are: none of them has the testbed's
    name in its own, so two testbeds, or a testbed and the machine, would meet there.
    """
    enter = enter_argv(pid)
    for seen, source in {Path("/etc"): etc, Path("/var/tmp"): var_tmp, **covers}.items():  # noqa: S108
        _step([*enter, "mount", "--bind", str(source), str(seen)])
    for folder, mode in {"/dev/shm": "1777", "/run": "0755"}.items():  # noqa: S108
        _step([*enter, "mount", "-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", folder])
    _step([*enter, "hostname", host.name])
    _step([*enter, "ip", "link", "set", "lo", "up"])


def connect_hosts(spec: TestbedSpec, pids: dict[str, int]) -> None:
    """Join all hosts by one bridge inside the server's network namespace, and give each its address.

    ``pids``: host name -> first process. The machine itself gets no link and no route to them.
    """
    server = pids[spec.server.name]
    in_server = ["nsenter", "-t", str(server), "-n", "--", "ip"]
    _step([*in_server, "link", "add", "br0", "type", "bridge"])
    _step([*in_server, "addr", "add", f"{spec.server.address}/24", "dev", "br0"])
    _step([*in_server, "link", "set", "br0", "up"])
    for number, mom in enumerate(spec.mom_hosts, start=1):
        link, peer = f"veth{number}", pids[mom.name]
        _step([*in_server, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(peer)])
        _step([*in_server, "link", "set", link, "master", "br0", "up"])
        in_mom = ["nsenter", "-t", str(peer), "-n", "--", "ip"]
        _step([*in_mom, "addr", "add", f"{mom.address}/24", "dev", "eth0"])
        _step([*in_mom, "link", "set", "eth0", "up"])


def enter_argv(pid: int) -> list[str]:
    """The words to put before a command so that it runs on the host with this first process."""
    return ["nsenter", "-t", str(pid), "-m", "-u", "-i", "-n", "-p", "--"]


def find_host_process(testbed: Path, host: Host) -> int | None:
    """The host's first process, or None if the host is not running."""
    for pid, marks in _marked_processes(testbed):
        if marks.get(_HOST) == host.name and _is_first_in_namespace(pid):
            return pid
    return None


def kill_hosts(testbed: Path, timeout_s: float = 20.0) -> bool:
    """End every host of the testbed at once, with all that runs on it; returns whether any was running.

    Safe to repeat. `TestbedError` if one is still there after ``timeout_s``.
    """
    start_s = time.monotonic()
    found = False
    while left := [pid for pid, _ in _marked_processes(testbed)]:
        found = True
        elapsed_s = time.monotonic() - start_s
        if elapsed_s > timeout_s:
            raise TestbedError(f"testbed in {testbed}: processes {left} did not end within {timeout_s:g} s of SIGKILL")
        # unshare waits for its host's first process, reaps it and ends. If it were killed before that, a zombie would
        # be left to the machine's init, and would hold the host's namespace for as long as init takes.
        firsts = [pid for pid in left if _is_first_in_namespace(pid)]
        for pid in firsts or (left if elapsed_s > _UNSHARE_GRACE_S else []):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    return found


def _marked_processes(testbed: Path) -> Iterator[tuple[int, dict[str, str]]]:
    wanted = f"{_TESTBED}={testbed}".encode()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        environ = _read(folder / "environ").split(b"\0")
        # A zombie has no environment: whoever is found here can still be ended, and who cannot needs no ending.
        if wanted in environ:
            words = (word.decode("utf-8", "replace").partition("=") for word in environ if word)
            yield int(folder.name), {key: value for key, _, value in words}


def _is_first_in_namespace(pid: int) -> bool:
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(b"NSpid:"):
            numbers = line.split()[1:]
            return len(numbers) > 1 and numbers[-1] == b"1"
    return False


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _step(argv: list[str]) -> None:
    run(argv, timeout_s=_STEP_TIMEOUT_S).demand_success()
