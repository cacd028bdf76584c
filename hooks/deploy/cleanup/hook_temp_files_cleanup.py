"""Cleans up what PBS leaves of our hooks in its folder for temporary files, and would delete only after 20 minutes.

qmgr leaves a copy of each text that it imports, the server the output file of a periodic hook's process if the hook is
deleted, imported or enabled meanwhile. Cleaning waits for such a process: it sees within a second that its hook has
gone.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from pathlib import Path

from hooks.deploy.read_installed_server_state import hooks_folder, server_locks

_PASS_ENDS_S = 10.0
"""How long to wait for processes: another hook's may stay as long as it likes."""

_SERVER = "pbs_server"
_FIRST_FILES = 64
"""The server opens its lock as one of its first files, and keeps it open."""


def find_leftovers(home: Path, hooks: Mapping[str, str]) -> list[Path]:
    """The files that processes of these ``hooks`` (name: event) have left."""
    names = "|".join(f"{event}_{name}" for name, event in hooks.items())
    ours = re.compile(rf"hook_(?:{names})_[0-9]+\.(?:in|out|data)")
    return sorted(path for path in _temporary(home).glob("hook_*") if ours.fullmatch(path.name))


def sweep(home: Path, hooks: Mapping[str, str], imported: Path) -> None:
    """Remove these files once the processes of passes have ended, and copies of the files in the folder ``imported``,
    which an apply that was cut off leaves. Raises OSError."""
    deadline_s = time.monotonic() + _PASS_ENDS_S
    passes = find_forks(home)
    while passes & find_forks(home) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    for path in find_leftovers(home, hooks):
        path.unlink(missing_ok=True)
    for path in imported.glob("*"):
        clear_copies(home, path)


def clear_copies(home: Path, imported: Path) -> None:
    """Remove qmgr's copies of an imported file. PBS later deletes one that cannot be removed now."""
    with contextlib.suppress(OSError):
        text = imported.read_bytes()
        for path in _temporary(home).glob("qmgr_hook*"):
            copy = path.read_bytes()
            # One of a disk that is full may be cut off.
            if copy and text.startswith(copy):
                path.unlink()


def _temporary(home: Path) -> Path:
    return hooks_folder(home) / "tmp"


def find_forks(home: Path) -> set[int]:
    """The processes that a server with this PBS_HOME has forked here, such as that of a periodic hook. They are
    recognised by the server's lock file, which they too have open; so those of a server that was killed are found as
    well."""
    return {process for lock in server_locks(home) for process in _find_forks(lock)}


def _find_forks(lock: Path) -> set[int]:
    try:
        identity, server = _identify(lock), lock.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return set()
    processes = [path for path in Path("/proc").glob("[0-9]*") if _read(path / "comm").startswith(_SERVER)]
    return {int(path.name) for path in processes if _own_id(path) != server and identity in _identify_open_files(path)}


def _identify_open_files(process: Path) -> set[tuple[int, int]]:
    found = set()
    for number in range(_FIRST_FILES):
        with contextlib.suppress(OSError):
            found.add(_identify(process / "fd" / str(number)))
    return found


def _identify(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _own_id(process: Path) -> str:
    """A process's id in its own namespace."""
    lines = _read(process / "status").splitlines()
    return next((line.split()[-1] for line in lines if line.startswith("NSpid:")), process.name)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
