"""What a testbed needs of the machine, looked at before anything is touched: root, programs, an installed PBS.

Each refusal says what is missing, where it was looked for, and the Debian package that brings it.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Mapping
from pathlib import Path

from container.run import SYSTEM_PATH
from container.spec import TestbedError

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
}
"""Program -> the Debian package that brings it."""

DATA_SERVICE_USER = "postgres"
"""The user that PBS's data store runs as; PostgreSQL refuses to run as root."""

PBS_CONF = Path("/etc/pbs.conf")
DEFAULT_PBS_EXEC = Path("/opt/pbs")
SERVER_PROGRAM = "sbin/pbs_server.bin"


def find_pbs_exec(
    given: str | None, environ: Mapping[str, str], pbs_conf: Path = PBS_CONF, default: Path = DEFAULT_PBS_EXEC
) -> str:
    """The installed PBS to run: the one given, else $PBS_EXEC, else pbs.conf's, else the default.

    Raises `TestbedError`, with all places it looked at, if there is none.
    A place that is named must be right: a later one is not tried in its stead.
    """
    looked: list[str] = []
    for source, path in (
        ("--pbs-exec", given),
        ("$PBS_EXEC", environ.get("PBS_EXEC")),
        (f"PBS_EXEC in {pbs_conf}", _read_pbs_exec(pbs_conf)),
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


def find_shortcomings(pbs_exec: str | None, environ: Mapping[str, str]) -> str | None:
    """Why no testbed can run on this machine, in one sentence, or None if one can."""
    try:
        check_root()
        check_programs()
        find_pbs_exec(pbs_exec, environ)
    except TestbedError as error:
        return str(error)
    return None


def check_root() -> None:
    """Refuse anybody but root; raises `TestbedError`."""
    if os.geteuid() != 0:
        raise TestbedError(f"a testbed needs root (network namespaces, mounts); you are user number {os.geteuid()}")


def check_programs() -> None:
    """Refuse a machine that lacks a program or the data store's user; raises `TestbedError`."""
    for program, package in PACKAGES.items():
        if shutil.which(program, path=SYSTEM_PATH) is None:
            raise TestbedError(f"no program {program!r} in {SYSTEM_PATH}; Debian's package {package} has it")
    try:
        pwd.getpwnam(DATA_SERVICE_USER)
    except KeyError as error:
        raise TestbedError(
            f"no user {DATA_SERVICE_USER!r}, which PBS's data store runs as; Debian's package postgresql makes it"
        ) from error


def _read_pbs_exec(pbs_conf: Path) -> str | None:
    try:
        text = pbs_conf.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.strip().partition("=")
        if key == "PBS_EXEC":
            return value.strip().strip("\"'") or None
    return None
