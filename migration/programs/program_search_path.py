"""Where programs are looked for: the system's folders and PBS's, whatever the caller's PATH is.

Cron, sshd and sudo each start programs with another PATH, and none of them has PBS's folder.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CONF = Path("/etc/pbs.conf")
_DEFAULT_EXEC = "/opt/pbs"


def find_path() -> str:
    """The value of PATH for all programs of a scheduler, of rsync and of ssh."""
    return f"{read_pbs_conf('PBS_EXEC', _DEFAULT_EXEC)}/bin:{_SYSTEM}"


def read_pbs_conf(name: str, default: str) -> str:
    """A setting of this host's PBS."""
    try:
        lines = _CONF.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    found = [line.partition("=")[2].strip().strip("'\"") for line in lines if line.strip().startswith(f"{name}=")]
    return found[-1] if found else default


def set_path() -> None:
    """Give this process that PATH."""
    os.environ["PATH"] = find_path()


def own_program(name: str) -> str:
    """The path of a program of ours, which is installed beside the others: in the environment's folder of programs,
    or beside the program that runs, as the DEB and the RPM have no environment. The first if it is in neither.

    Where the system's Python has scripts takes long to find out, so it is asked outside virtual environments alone.
    """
    folder = f"{sys.prefix}/bin" if sys.prefix != sys.base_prefix else sysconfig.get_path("scripts")
    installed = Path(folder, name)
    beside = Path(sys.argv[0]).absolute().with_name(name)
    return str(beside if beside.exists() and not installed.exists() else installed)
