"""The vnodes of a run in the formats that parallel programs read, and as the one text that reaches the job's hosts.

It is loaded on a job's hosts as the job starts, so it needs next to nothing. The entries are made by
:mod:`policy.explain.hostfiles_for_mpi_and_openmp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple


class Entry(NamedTuple):
    """What a job has on one vnode: the number of MPI processes, and its sockets and cores (empty if not requested or
    not known); ``vnode_cores`` is how many cores the vnode has."""

    vnode: str
    host: str
    processes: int
    sockets: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()
    vnode_cores: int = 0

    def show(self) -> str:
        """A line of the ranked list: ``v3 sockets 0,1 cores 0-7,12``, in as much detail as is known."""
        parts = (("sockets", self.sockets), ("cores", self.cores))
        return " ".join([self.vnode, *(f"{what} {show_ranges(numbers)}" for what, numbers in parts if numbers)])

    def places(self) -> str:
        """Its cores as OpenMP places: one for each process if they divide evenly, else one for each core."""
        each, rest = divmod(len(self.cores), self.processes or 1)
        return openmp_places(self.cores, 1 if rest else each)


def ranked_lines(entries: Iterable[Entry]) -> str:
    """The ranked list, a line for each vnode, best first."""
    return "".join(f"{entry.show()}\n" for entry in entries)


def open_mpi_hostfile(entries: Iterable[Entry]) -> str:
    """For ``mpirun --hostfile``: ``host slots=N``, each host once."""
    return "".join(f"{host} slots={count}\n" for host, count in _by_host(entries).items())


def mpich_hostfile(entries: Iterable[Entry]) -> str:
    """For ``mpiexec -f`` of MPICH and its derivatives: ``host:N``, each host once."""
    return "".join(f"{host}:{count}\n" for host, count in _by_host(entries).items())


def openmp_places(cores: Sequence[int], cores_per_place: int = 1) -> str:
    """For ``OMP_PLACES``: a place for each core, ``{0},{1}``, or for several together, ``{0:4},{4:4}``; cores that are
    not consecutive are listed, ``{0,1,8}`` (OpenMP API 5.2, section 21.1.6)."""
    places = [tuple(cores[at : at + cores_per_place]) for at in range(0, len(cores), cores_per_place)]
    return ",".join("{" + _place(place) + "}" for place in places)


def _place(cores: tuple[int, ...]) -> str:
    first = cores[0]
    if len(cores) > 1 and cores == tuple(range(first, first + len(cores))):
        return f"{first}:{len(cores)}"
    return ",".join(map(str, cores))


def show_ranges(numbers: Sequence[int]) -> str:
    """Numbers in ascending order, consecutive ones as a range: ``0-3,8``."""
    return _in_ranges(sorted(numbers), ",")


def _in_ranges(numbers: Sequence[int], separator: str) -> str:
    """Numbers in their order, those that ascend one by one as a range."""
    pieces: list[list[int]] = []
    for number in numbers:
        if pieces and pieces[-1][-1] == number - 1:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return separator.join(f"{piece[0]}-{piece[-1]}" if len(piece) > 1 else str(piece[0]) for piece in pieces)


def _by_host(entries: Iterable[Entry]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for entry in entries:
        counts[entry.host] = counts.get(entry.host, 0) + entry.processes
    return {host: count for host, count in counts.items() if count}


# As one text

VARIABLE = "PBSTEER_VNODES"
"""The variable of the job that has the text."""

_MOST_TEXT = 32_768
_NAME = r"[A-Za-z0-9_.\[\]-]+"
_RANGES = r"(?:[0-9]+(?:-[0-9]+)?(?:/[0-9]+(?:-[0-9]+)?)*)?"
_ENTRY = re.compile(rf"({_NAME}):({_NAME}):([0-9]{{1,6}}):([0-9]{{1,6}}):({_RANGES}):({_RANGES})")
_MOST_CORES = 100_000
_MOST_NUMBERS = 1_000_000
"""Of all entries together: a job's program may set the variable for those that it starts, and root reads it."""


def show_entries(entries: Sequence[Entry]) -> str:
    """``vnode:host:cores of the vnode:processes:sockets:cores`` for each, joined by ``+``; numbers as ``0-3/8``,
    without the commas and blanks that lists of variables cannot have. Empty if a name has other
    characters, or the text would be too long for a variable."""
    text = "+".join(
        f"{entry.vnode}:{entry.host}:{entry.vnode_cores}:{entry.processes}"
        f":{_in_ranges(entry.sockets, '/')}:{_in_ranges(entry.cores, '/')}"
        for entry in entries
    )
    return text if len(text) <= _MOST_TEXT and len(parse_entries(text)) == len(entries) else ""


def parse_entries(text: str) -> tuple[Entry, ...]:
    """The entries of a text that :func:`show_entries` made; none for any other text."""
    found = []
    left = _MOST_NUMBERS
    for part in text.split("+") if len(text) <= _MOST_TEXT else ():
        match = _ENTRY.fullmatch(part)
        if match is None:
            return ()
        vnode, host, cores, processes, sockets, numbers = match.groups()
        ranges = [_read_ranges(each) for each in (sockets, numbers)]
        left -= sum(len(each) for lists in ranges for each in lists)
        if left < 0:
            return ()
        of_sockets, of_cores = (tuple(chain.from_iterable(each)) for each in ranges)
        found.append(Entry(vnode, host, int(processes), of_sockets, of_cores, int(cores)))
    return tuple(found)


def _read_ranges(text: str) -> list[range]:
    found: list[range] = []
    for piece in text.split("/") if text else ():
        first, _, last = piece.partition("-")
        if len(piece) > 15 or int(last or first) >= _MOST_CORES:
            return []
        found.append(range(int(first), int(last or first) + 1))
    return found
