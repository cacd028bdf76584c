"""The command that starts a program on the job's cores of a host, by the numbers that its system has for them.

``taskset`` sets the processors and the program is then executed in its place, under its own name, so that a login shell
stays one. If the processors cannot be set, for example since a control group of the job has none of them, the program
starts without; of those that a control group has only some it gets these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from policy.model.lists_for_programs import Entry, openmp_places, show_ranges

_SHELLS = ("bin/bash", "usr/bin/bash")
_SETTERS = ("usr/bin/taskset", "bin/taskset")
_SCRIPT = '"$1" -p -c "$2" $$ >/dev/null 2>&1; name=$3 program=$4; shift 4; exec -a "$name" "$program" "$@"'

Processor = tuple[int, int, int]
"""A processor's package and core as the system numbers them, and its own number."""


def bound_command(
    root: Path, entries: Sequence[Entry], program: str, words: Sequence[str]
) -> tuple[str, list[str]] | None:
    """The program and its words, bound to the entry's cores or else sockets; None where that cannot be done: several
    vnodes of one host, another number of cores than the host has, or a host without bash or taskset."""
    shell = next((f"/{path}" for path in _SHELLS if (root / path).exists()), None)
    setter = next((f"/{path}" for path in _SETTERS if (root / path).exists()), None)
    if shell is None or setter is None or len(entries) != 1:
        return None
    processors = processors_of(read_processors(root), entries[0])
    if not processors:
        return None
    # The words of a job's script are added after the hook: PBS starts the shell as a login shell. That would now be
    # this bash, which must not read what login shells do; the job's own shell is made the login shell again.
    name = words[0] if words else f"-{program.rpartition('/')[2]}"
    # Without -p bash would read a file that the job's own variables may name.
    options = ["--noprofile", "--norc", "-p", "-c", _SCRIPT]
    return shell, [shell, *options, "pbsteer", setter, show_ranges(processors), name, program, *words[1:]]


def openmp_places_on_host(root: Path, entry: Entry) -> str:
    """An entry's cores as OpenMP places by the system's numbers: as in the list for one process, else one for each
    core. Empty if it has no cores or their numbers are not known."""
    counted = _count(read_processors(root), entry.vnode_cores)
    if not entry.cores or max(entry.cores) >= len(counted):
        return ""
    here = entry._replace(cores=tuple(counted[core][0] for core in entry.cores))
    return here.places() if entry.processes == 1 else openmp_places(here.cores)


def processors_of(host: Sequence[Processor], entry: Entry) -> list[int]:
    """The numbers of the processors for an entry's cores; for its sockets if it names no cores. Empty if the vnode does
    not count what the host has."""
    counted = _count(host, entry.vnode_cores)
    if not counted:
        return []
    if entry.cores:
        found: Iterable[int] = (number for core in entry.cores if core < len(counted) for number in counted[core])
    else:
        packages = sorted({package for package, _, _ in host})
        chosen = {packages[socket] for socket in entry.sockets if socket < len(packages)}
        found = (number for package, _, number in host if package in chosen)
    return sorted(found)


def _count(host: Sequence[Processor], vnode_cores: int) -> list[list[int]]:
    """The processors of each core of the list, socket by socket: a vnode counts the host's cores, or all their threads.
    Empty if it counts neither."""
    by_core: dict[tuple[int, int], list[int]] = {}
    for package, core, number in sorted(host):
        by_core.setdefault((package, core), []).append(number)
    if vnode_cores == len(by_core):
        return list(by_core.values())
    return [[number] for numbers in by_core.values() for number in numbers] if vnode_cores == len(host) else []


def read_processors(root: Path) -> list[Processor]:
    """The host's processors that are on; empty if the system does not say where they are."""
    places = map(_read_place, (root / "sys/devices/system/cpu").glob("cpu[0-9]*"))
    return sorted(place for place in places if place is not None)


def _read_place(folder: Path) -> Processor | None:
    """A processor's place; one that is off has none."""
    try:
        package, core = (int((folder / "topology" / name).read_text()) for name in ("physical_package_id", "core_id"))
        return package, core, int(folder.name[len("cpu") :])
    except (OSError, ValueError):
        return None
