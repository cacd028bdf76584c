"""One testbed host in a container: ``python3 -m container.container_entry server|mom`` is the image's entry point.

At its first start it makes PBS_HOME, the users and PBS's settings; at each start it starts the host's daemons, then
waits for a signal to stop. The environment describes the testbed; the host name says which of its hosts this is.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Callable

from container.hosts.add_users_to_account_files import AccountFiles, add_users, make_homes
from container.hosts.machine_and_host_requirements import SERVER_PROGRAM
from container.pbs import daemons as cluster
from container.pbs import pbs_config
from container.run_program import SYSTEM_PATH, Finished, run
from container.testbed_spec import Host, TestbedError, TestbedSpec

PBS_HOME = Path("/var/spool/pbs")
HOMES = Path("/home")
INSTALLED = Path("/installed/pbs")
"""Where an installed PBS may be mounted. It is copied, since PBS needs some of its programs setuid."""

_DEFINED = PBS_HOME / "pbsteer-testbed"
_STOPS = frozenset({signal.SIGTERM, signal.SIGINT})


def main(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the host given by arguments, environment and host name; returns the exit status after a signal to stop."""
    try:
        spec, host = read_spec(words, environ, socket.gethostname())
        _say(f"host {host.name} of testbed {spec.name}")
        _bring_up(spec, host)
        _say("up")
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
        signal.sigwait(_STOPS)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        if host.is_server:
            cluster.stop_server(spec, PBS_HOME, _run_here)
    except TestbedError as error:
        _say(str(error))
        return 1
    return 0


def reap_for(work: Callable[[], int]) -> int:
    """Run ``work`` in a child, as the first process of a container should; returns its exit status.

    Signals to stop are forwarded to the child; orphans are reaped meanwhile. One process could not do both: by reaping
    orphans it would lose the exit statuses of the programs that it waits for.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_STOPS, signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os._exit(work())
    while True:
        caught = signal.sigwait({*_STOPS, signal.SIGCHLD})
        if caught != signal.SIGCHLD:
            os.kill(child, caught)
            continue
        ended, status = os.waitpid(-1, os.WNOHANG)
        while ended:
            if ended == child:
                return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            ended, status = os.waitpid(-1, os.WNOHANG)


def read_spec(words: Sequence[str], environ: Mapping[str, str], host_name: str) -> tuple[TestbedSpec, Host]:
    """The testbed, and the host in it that this container is; `TestbedError` where role and host name do not match.

    ``words``: the role. The environment has PBSTEER_NAME, PBSTEER_MOMS, PBSTEER_CORES, PBSTEER_VNODES and PBS_EXEC,
    where they differ from a testbed's defaults.
    """
    spec = TestbedSpec(
        name=environ.get("PBSTEER_NAME", TestbedSpec.name),
        moms=_read_number(environ, "PBSTEER_MOMS", TestbedSpec.moms),
        cores=_read_number(environ, "PBSTEER_CORES", TestbedSpec.cores),
        vnodes=_read_number(environ, "PBSTEER_VNODES", TestbedSpec.vnodes),
        pbs_exec=environ.get("PBS_EXEC", TestbedSpec.pbs_exec),
    )
    host = spec.find_host(host_name)
    role = "server" if host.is_server else "mom"
    if list(words) != [role]:
        raise TestbedError(f"host {host.name} is the testbed's {role}, and was started as {' '.join(words)!r}")
    return spec, host


def _read_number(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, str(default))
    if not text.isdecimal():
        raise TestbedError(f"${name} is {text!r}: must be a whole number")
    return int(text)


def _bring_up(spec: TestbedSpec, host: Host) -> None:
    # Not PBS_HOME itself: a package's postinstall may have made it.
    is_new = not _DEFINED.exists()
    _install(Path(spec.pbs_exec))
    Path("/etc/pbs.conf").write_text(pbs_config.write_pbs_conf(spec, host, str(PBS_HOME)))
    Path("/etc/hosts").write_text(pbs_config.write_hosts(spec))
    _add_users(spec)
    cluster.check_installation(spec, host, _run_here)
    if is_new:
        cluster.lay_out_home(Path(spec.pbs_exec), PBS_HOME, host)
    if not host.is_server:
        if is_new:
            cluster.define_vnodes(spec, host, _run_here)
            _DEFINED.touch()
        cluster.start_mom(spec, host, _run_here)
        return
    cluster.start_server_host(spec, _run_here, _say)
    if is_new:
        cluster.configure_server(spec, _run_here)
        _DEFINED.touch()
    _say("waiting for the vnodes")
    cluster.wait_until_free(spec, _run_here)


def _install(pbs_exec: Path) -> None:
    """Copy the mounted PBS where the image has none; `TestbedError` if there is neither."""
    if not (pbs_exec / SERVER_PROGRAM).is_file():
        if not (INSTALLED / SERVER_PROGRAM).is_file():
            raise TestbedError(
                f"no PBS: the image has none in {pbs_exec} and none is mounted in {INSTALLED}; build the image with"
                " PBS's packages, or mount an installed PBS there"
            )
        shutil.copytree(INSTALLED, pbs_exec, symlinks=True, dirs_exist_ok=True)
    for name in cluster.SETUID_PROGRAMS:
        (pbs_exec / name).chmod(0o4755)


def _add_users(spec: TestbedSpec) -> None:
    paths = [Path("/etc") / name for name in ("passwd", "group", "shadow")]
    files = add_users(AccountFiles(*(path.read_text() for path in paths)), spec.users, str(HOMES))
    for path, text in zip(paths, (files.passwd, files.group, files.shadow)):
        path.write_text(text)
    make_homes(files.passwd, spec.users, HOMES)


def _run_here(host: Host, argv: Sequence[str], *, timeout_s: float, stdin: str = "") -> Finished:
    return run(argv, timeout_s=timeout_s, env={"PATH": SYSTEM_PATH, "LANG": "C.UTF-8"}, stdin=stdin, cwd=Path("/"))


def _say(step: str) -> None:
    print(step, flush=True)  # noqa: T201  what a container prints is its log


if __name__ == "__main__":
    sys.exit(reap_for(lambda: main(sys.argv[1:], os.environ)))
