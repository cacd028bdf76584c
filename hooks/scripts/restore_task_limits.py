"""The limits, control groups and umask that PBS set for a task: recorded when it is saved, set again before it runs on.

What is recorded is what the kernel enforces on the process; its user can make that tighter but not wider.
"""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path
from typing import Any, NamedTuple

from hooks.scripts.harden_root_script import lift_memory_bound
from hooks.scripts.session_processes import read_status

_LIMITS = {
    "Max cpu time": resource.RLIMIT_CPU,
    "Max file size": resource.RLIMIT_FSIZE,
    "Max data size": resource.RLIMIT_DATA,
    "Max stack size": resource.RLIMIT_STACK,
    "Max core file size": resource.RLIMIT_CORE,
    "Max resident set": resource.RLIMIT_RSS,
    "Max processes": resource.RLIMIT_NPROC,
    "Max open files": resource.RLIMIT_NOFILE,
    "Max locked memory": resource.RLIMIT_MEMLOCK,
    "Max address space": resource.RLIMIT_AS,
    "Max pending signals": resource.RLIMIT_SIGPENDING,
    "Max msgqueue size": resource.RLIMIT_MSGQUEUE,
    "Max nice priority": resource.RLIMIT_NICE,
    "Max realtime priority": resource.RLIMIT_RTPRIO,
    "Max realtime timeout": resource.RLIMIT_RTTIME,
}
"""The limits by their names in /proc/PID/limits. In some containers prlimit() of another user's process needs more than
root's rights. File locks are left out, as Linux does not limit them any more."""

_OF_MEMORY = frozenset({"Max address space", "Max data size"})
_NAME_WIDTH = 26
_MOST_TOLD = 1 << 20
_ESCAPED = re.compile(r"\\([0-7]{3})")


class _Mount(NamedTuple):
    """Where a hierarchy of control groups is mounted: the group ``root`` is at ``point``."""

    root: str
    point: str
    kind: str
    options: frozenset[str]


def read_bounds(pid: int) -> dict[str, Any]:
    """A process's limits, control groups and umask, as plain data."""
    limits = {}
    for line in _read(Path(f"/proc/{pid}/limits")).splitlines():
        name = line[:_NAME_WIDTH].rstrip()
        if name in _LIMITS:
            limits[name] = [_read_limit(word) for word in line[_NAME_WIDTH:].split()[:2]]
    return {"limits": limits, "groups": _read_groups(str(pid)), "umask": int(read_status(pid, "Umask")[0], 8)}


def set_limits(recorded: dict[str, Any]) -> None:
    """Set the recorded umask and limits, but not the limits of memory: this process is larger than the job may have
    been. Needs root's rights, since the MoM's own limits may be lower. A task saved by a script that recorded no limits
    gets none."""
    lift_memory_bound()
    os.umask(recorded.get("umask", 0o077))
    for name, limit in recorded.get("limits", {}).items():
        soft, hard = limit
        if name in _OF_MEMORY:
            soft = hard = _most(hard, resource.getrlimit(_LIMITS[name])[1])
        _set_limit(_LIMITS[name], (soft, hard))


def set_memory_limits(recorded: dict[str, Any]) -> None:
    """Set the recorded limits of memory, just before the task's own program begins. Needs no rights."""
    for name, limit in recorded.get("limits", {}).items():
        if name in _OF_MEMORY:
            soft, hard = limit
            _set_limit(_LIMITS[name], (soft, hard))


def _set_limit(number: int, wanted: tuple[int, int]) -> None:
    """Set a limit, capped at this process's own hard limit where it may not go higher."""
    try:
        resource.setrlimit(number, wanted)
    except ValueError:
        most = resource.getrlimit(number)[1]
        resource.setrlimit(number, (_least(wanted[0], most), _least(wanted[1], most)))


def _least(one: int, other: int) -> int:
    return max(one, other) if resource.RLIM_INFINITY in (one, other) else min(one, other)


def _most(one: int, other: int) -> int:
    return resource.RLIM_INFINITY if resource.RLIM_INFINITY in (one, other) else max(one, other)


def _read_limit(word: str) -> int:
    return resource.RLIM_INFINITY if word == "unlimited" else int(word)


def join_groups(recorded: dict[str, Any]) -> None:
    """Put this process into the recorded control groups. Raises OSError or ValueError if one is gone: a job must not
    run on outside the bounds that it had."""
    own = _read_groups("self")
    mounts: list[_Mount] | None = None
    for controllers, group in recorded.get("groups", {}).items():
        if own.get(controllers) == group:
            continue
        mounts = mounts if mounts is not None else _read_mounts()
        path = _find_group(controllers, group, mounts)
        if path is None:
            raise ValueError(f"control group {controllers or 'of version 2'}:{group} cannot be reached")
        (path / "cgroup.procs").write_text("0", encoding="ascii")


def _read_groups(pid: str) -> dict[str, str]:
    """A process's control group by the controllers of its hierarchy; an empty string means version 2."""
    lines = _read(Path("/proc") / pid / "cgroup").splitlines()
    return {controllers: group for _, controllers, group in (line.split(":", 2) for line in lines)}


def _find_group(controllers: str, group: str, mounts: list[_Mount]) -> Path | None:
    if ".." in group.split("/"):
        return None
    wanted = frozenset(controllers.split(",")) if controllers else frozenset()
    for mount in mounts:
        is_of_it = wanted <= mount.options if wanted else True
        inside = os.path.relpath(group, mount.root)
        if mount.kind == ("cgroup" if wanted else "cgroup2") and is_of_it and not inside.startswith(".."):
            return Path(mount.point) / inside
    return None


def _read_mounts() -> list[_Mount]:
    found = []
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        before, _, after = line.partition(" - ")
        root, point = (_ESCAPED.sub(lambda code: chr(int(code[1], 8)), word) for word in before.split()[3:5])
        kind, _, options = after.split(" ", 2)
        found.append(_Mount(root, point, kind, frozenset(options.split(","))))
    return found


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return os.fsdecode(file.read(_MOST_TOLD))
