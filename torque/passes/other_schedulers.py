"""Another scheduler beside pbsteer: a process of that name on this host, or one that listens on the port of schedulers.

Two schedulers would start jobs on the same slots, so pbsteer does not drive beside one. Torque's own has the port on
which the server wakes schedulers; Maui and Moab need not, are known by their names, and are not seen on other hosts.
The server starts jobs for root, managers and operators alone: what another user runs under such a name, or on that
port, is no scheduler.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterator, Mapping
from pathlib import Path

from torque.read.believe_job_list import trusted_users

SCHEDULERS = ("pbs_sched", "maui", "moab")
_LISTENS = "0A"


def find_other_scheduler(server: Mapping[str, str], proc: Path = Path("/proc")) -> str:
    """The name and process of another scheduler on this host; empty if there is none. ``server`` has the server's
    attributes."""
    own_net = _namespace(proc / "self")
    for pid, name in _walk_processes(proc):
        if name in SCHEDULERS and _namespace(proc / pid) == own_net and _may_start(_real_user(proc / pid), server):
            return f"{name} (process {pid})"
    return ""


def find_listener(port: int, server: Mapping[str, str], proc: Path = Path("/proc")) -> str:
    """The name and number of the process that listens on a port of this host for a user who may start jobs; a few words
    if that is not known, and empty if there is none."""
    inodes = {inode for inode, uid in _walk_listening(port, proc) if _may_start(uid, server)}
    if not inodes:
        return ""
    for pid, name in _walk_processes(proc):
        with contextlib.suppress(OSError):
            for file in (proc / pid / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.readlink(file) in inodes:  # noqa: PTH115 - no path: "socket:[123]"
                        return f"{name} (process {pid})"
    return "another process"


def _may_start(uid: int | None, server: Mapping[str, str]) -> bool:
    """Whether the server may start jobs for this user of the host. One who is not known counts as none."""
    if uid is None:
        return False
    # From whatever host: a name of this one that is not known here must not hide its scheduler.
    names = {user for user, _ in trusted_users(server)}
    try:
        return uid == 0 or pwd.getpwuid(uid).pw_name in names
    except KeyError:
        return False


def _walk_processes(proc: Path) -> Iterator[tuple[str, str]]:
    for folder in sorted(proc.iterdir(), key=lambda path: path.name):
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                yield folder.name, _name(folder)


def _name(process: Path) -> str:
    """The name of the program's file, as far as this user may see it: a process may call itself as it likes, and a link
    to a setuid program as its user likes."""
    with contextlib.suppress(OSError):
        return Path(os.readlink(process / "exe").removesuffix(" (deleted)")).name  # noqa: PTH115 - may be no path
    return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()


def _real_user(process: Path) -> int | None:
    """The user who has started the process, also of a setuid program."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        status = (process / "status").read_text(encoding="utf-8", errors="replace")
        return int(status.partition("\nUid:")[2].split(maxsplit=1)[0])
    return None


def _namespace(process: Path) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(process / "ns" / "net")  # noqa: PTH115 - no path: "net:[4026531840]"
    return ""


def _walk_listening(port: int, proc: Path) -> Iterator[tuple[str, int]]:
    """Each socket that listens on the port, and its user."""
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / name).read_text(encoding="ascii", errors="replace").splitlines()[1:]:
                words = line.split()
                if len(words) > 9 and words[3] == _LISTENS and words[1].endswith(f":{port:04X}"):
                    yield f"socket:[{words[9]}]", int(words[7])
