"""What a testbed requires: of the machine, root and an installed PBS or Torque; of each host, programs, libraries and a
user.

Each refusal says what is missing, where it was looked for, and which Debian package has it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from container.hosts.add_users_to_account_files import find_account
from container.run_program import SYSTEM_PATH
from container.testbed_spec import TestbedError

PACKAGES = {
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setsid": "util-linux",
    "mount": "mount",
    "setpriv": "util-linux",
    "hostname": "hostname",
    "pgrep": "procps",
    "env": "coreutils",
    "psql": "postgresql-client",
    "pg_config": "postgresql-common",
}
"""Program of a host -> the Debian package that has it. With the netns engine these are the machine's own programs."""

TORQUE_PACKAGES = {name: package for name, package in PACKAGES.items() if not package.startswith("postgresql")}
"""The same for hosts of Torque, which keeps its data in files of its own."""

SLURM_PACKAGES = {
    **TORQUE_PACKAGES,
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
}
"""The same for hosts of Slurm."""

_PACKAGES = {"pbs": PACKAGES, "slurm": SLURM_PACKAGES, "torque": TORQUE_PACKAGES}

DATA_SERVICE_USER = "postgres"
"""The user that PBS's data store runs as; PostgreSQL refuses to run as root."""

PBS_CONF = Path("/etc/pbs.conf")
DEFAULT_PBS_EXEC = Path("/opt/pbs")
TORQUE_PREFIXES = (Path("/opt/torque"), Path("/usr/local"), Path("/usr"))
SERVER_PROGRAM = "sbin/pbs_server.bin"
SERVER_PROGRAMS = {"pbs": SERVER_PROGRAM, "torque": "sbin/trqauthd"}
"""The program that identifies an installation; PBS has no trqauthd, and Torque's server is called pbs_server too."""


def find_pbs_exec(
    given: str | None, environ: Mapping[str, str], pbs_conf: Path = PBS_CONF, default: Path = DEFAULT_PBS_EXEC
) -> str:
    """The installed PBS to run: the one given, else $PBS_EXEC, else pbs.conf's, else the default.

    Raises `TestbedError`, with all places that were checked, if there is none. A place that is named must have a PBS:
    later ones are not tried instead.
    """
    looked: list[str] = []
    for source, path in (
        ("--pbs-exec", given),
        ("$PBS_EXEC", environ.get("PBS_EXEC")),
        (f"PBS_EXEC in {pbs_conf}", read_pbs_exec(_read_text(pbs_conf))),
        ("the usual place", str(default)),
    ):
        if not path:
            looked.append(f"{source}: not set")
            continue
        if (Path(path) / SERVER_PROGRAM).is_file():
            return path
        looked.append(f"{source}: {path} has no {SERVER_PROGRAM}")
        if source != "the usual place":
            break
    raise TestbedError("no installed PBS found (" + "; ".join(looked) + ")")


def find_torque_prefix(given: str | None, prefixes: Sequence[Path] = TORQUE_PREFIXES) -> str:
    """The installed Torque to run: the one given, else the first of the usual places that has one. Raises
    `TestbedError` if there is none.
    """
    program = SERVER_PROGRAMS["torque"]
    places = [Path(given)] if given else list(prefixes)
    for place in places:
        if (place / program).is_file():
            return str(place)
    raise TestbedError(f"no installed Torque found: none of {', '.join(map(str, places))} has {program}")


def find_torque_shortcomings(prefix: str | None = None) -> str | None:
    """Why a testbed of Torque cannot run on this machine, in one sentence, or None if it can."""
    try:
        check_root()
        check_host(Path("/"), "this machine", "torque")
        find_torque_prefix(prefix)
    except TestbedError as error:
        return str(error)
    return None


def find_shortcomings(pbs_exec: str | None, environ: Mapping[str, str], engine: str = "netns") -> str | None:
    """Why a testbed of this engine cannot run on this machine, in one sentence, or None if it can."""
    try:
        check_root()
        if engine == "podman":
            check_podman()
        else:
            check_host(Path("/"), "this machine")
        find_pbs_exec(pbs_exec, environ)
    except TestbedError as error:
        return str(error)
    return None


def find_slurm_shortcomings() -> str | None:
    """Why a testbed of Slurm cannot run on this machine, in one sentence, or None if it can."""
    try:
        check_root()
        check_host(Path("/"), "this machine", "slurm")
    except TestbedError as error:
        return str(error)
    return None


def check_root() -> None:
    """Refuse users other than root; raises `TestbedError`."""
    if os.geteuid() != 0:
        raise TestbedError(f"a testbed needs root (network namespaces, mounts); you are user number {os.geteuid()}")


def has_podman() -> bool:
    """Whether podman is on the caller's PATH."""
    return shutil.which("podman") is not None


def check_podman() -> None:
    """Refuse a machine without podman; raises `TestbedError`."""
    if not has_podman():
        raise TestbedError(
            f"no program 'podman' in {os.environ.get('PATH', os.defpath)}; Debian's packages podman, runc, netavark,"
            " aardvark-dns and iptables make the podman engine"
        )


def check_host(root: Path, place: str, scheduler: str = "pbs") -> None:
    """Refuse a host, seen from the machine at ``root``, that lacks a program or the user of the scheduler's own store.

    Raises `TestbedError`, which calls the host ``place``.
    """
    for program, package in _PACKAGES[scheduler].items():
        if not any(os.path.lexists(f"{root}/{folder}/{program}") for folder in SYSTEM_PATH.split(":")):
            raise TestbedError(
                f"{place} has no program {program!r} in {SYSTEM_PATH}; Debian's package {package} has it"
            )
    passwd = (root / "etc" / "passwd").read_text(encoding="utf-8", errors="surrogateescape")
    if scheduler == "pbs" and find_account(passwd, DATA_SERVICE_USER) is None:
        raise TestbedError(
            f"{place} has no user {DATA_SERVICE_USER!r}, which PBS's data store runs as; Debian's package postgresql"
            " makes it"
        )


def read_pbs_exec(pbs_conf: str) -> str | None:
    """PBS_EXEC in the text of a pbs.conf, or None if it is not set."""
    for line in pbs_conf.splitlines():
        key, _, value = line.strip().partition("=")
        if key == "PBS_EXEC":
            return value.strip().strip("\"'") or None
    return None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
