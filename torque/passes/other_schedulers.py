"""Another scheduler beside pbsteer: a process of that name on this host, or one that has the port of schedulers.

Two schedulers would start jobs on the same slots, so pbsteer does not drive beside one. Torque's own has the port on
which the server wakes schedulers; Maui and Moab need not, are known by their names, and are not seen on other hosts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

SCHEDULERS = ("pbs_sched", "maui", "moab")
_LISTENS = "0A"


def find_other_scheduler(proc: Path = Path("/proc")) -> str:
    """The name and process of another scheduler on this host; empty if there is none."""
    own_net = _namespace(proc / "self")
    for pid, name in _walk_processes(proc):
        if name in SCHEDULERS and _namespace(proc / pid) == own_net:
            return f"{name} (process {pid})"
    return ""


def find_listener(port: int, proc: Path = Path("/proc")) -> str:
    """The name and number of the process that listens on a port of this host; a few words if that is not known."""
    inodes = set(_find_inodes(port, proc))
    for pid, name in _walk_processes(proc):
        with contextlib.suppress(OSError):
            for file in (proc / pid / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.readlink(file) in inodes:  # noqa: PTH115 - no path: "socket:[123]"
                        return f"{name} (process {pid})"
    return "another process"


def _walk_processes(proc: Path) -> Iterator[tuple[str, str]]:
    for folder in sorted(proc.iterdir(), key=lambda path: path.name):
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                yield folder.name, (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()


def _namespace(process: Path) -> str:
    with contextlib.suppress(OSError):
        return os.readlink(process / "ns" / "net")  # noqa: PTH115 - no path: "net:[4026531840]"
    return ""


def _find_inodes(port: int, proc: Path) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / name).read_text(encoding="ascii", errors="replace").splitlines()[1:]:
                words = line.split()
                if len(words) > 9 and words[3] == _LISTENS and words[1].endswith(f":{port:04X}"):
                    yield f"socket:[{words[9]}]"
