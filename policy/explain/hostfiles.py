"""Where a job runs, written out in the forms that parallel programs read.

The ranked list names the job's vnodes, best first, with the sockets and cores where they are known. From it come a PBS
node file, a hostfile for Open MPI or MPICH, and OpenMP places (docs/policies.md, P4). :func:`lists_of` has them all,
of what a plan starts and of what runs already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from policy.fit.core_binding import sockets_of
from policy.model.allocation import NO_CORES, Cores, Placement, Spot
from policy.model.cluster import Vnode
from policy.model.request import Chunk, Request
from policy.plan.plan import Plan


class Entry(NamedTuple):
    """What a job has on one vnode: MPI processes, and the cores on which of its sockets (empty where nobody asked or
    knows)."""

    vnode: str
    host: str
    processes: int
    sockets: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()

    def show(self) -> str:
        """As a line of the ranked list: ``v3 sockets 0,1 cores 0-7,12``, as far down as it is known."""
        parts = (("sockets", self.sockets), ("cores", self.cores))
        return " ".join([self.vnode, *(f"{what} {_ranges(numbers)}" for what, numbers in parts if numbers)])

    def places(self) -> str:
        """Its cores as OpenMP places, one for each process where they divide evenly, else one for each core."""
        each, rest = divmod(len(self.cores), self.processes or 1)
        return openmp_places(self.cores, 1 if rest else each)


class Lists(NamedTuple):
    """Where one run is, in each of the forms: lines that end with a line feed."""

    ranked: str
    nodes: str
    open_mpi: str
    mpich: str
    places: str


def lists_of(plan: Plan, job_id: str) -> Mapping[str, Lists]:
    """The lists of a job that runs or is started by this plan, by id: several for the subjobs of an array, none for a
    job that waits. The cores are those that the plan's ledger knows of; a job that asked for sockets sees no cores.

    Raises ValueError for a vnode or host whose name would break a line.
    """
    world = plan.started.world()
    found = {}
    for run in world.runs.values():
        if job_id in (run.id, run.job.id):
            detail = "vnode" if run.job.rank is None else run.job.rank.detail
            placement, request, vnodes = run.placement, run.job.request, world.vnodes
            entries = ranked_list(placement, request, vnodes, plan.ledger.cores.get(run.id, NO_CORES))
            if detail != "core":
                entries = tuple(entry._replace(cores=()) for entry in entries)
            found[run.id] = Lists(
                "".join(f"{entry.show()}\n" for entry in entries),
                node_file(placement, request, vnodes),
                open_mpi_hostfile(entries),
                mpich_hostfile(entries),
                "".join(f"{entry.vnode} {entry.places()}\n" for entry in entries if entry.cores),
            )
    return found


def ranked_list(
    placement: Placement, request: Request, vnodes: Mapping[str, Vnode], cores: Cores = MappingProxyType({})
) -> tuple[Entry, ...]:
    """The vnodes of a placement, each once, in the order of the job's chunks: for a ranked job the best first.

    Raises ValueError for a vnode or host whose name would break a line.
    """
    processes: dict[str, int] = {}
    for name, count in _processes(placement, request):
        processes[name] = processes.get(name, 0) + count
    entries = []
    for name, count in processes.items():
        vnode, numbers = vnodes.get(name) or Vnode(name, {}), cores.get(name, ())
        entries.append(Entry(_checked(name), _host(name, vnodes), count, sockets_of(vnode, numbers), numbers))
    return tuple(entries)


def node_file(placement: Placement, request: Request, vnodes: Mapping[str, Vnode]) -> str:
    """As PBS writes ``$PBS_NODEFILE``: the host of each MPI process on a line, chunk by chunk."""
    return "".join(f"{_host(name, vnodes)}\n" * count for name, count in _processes(placement, request))


def open_mpi_hostfile(entries: Iterable[Entry]) -> str:
    """For ``mpirun --hostfile``: ``host slots=N``, each host once."""
    return "".join(f"{host} slots={count}\n" for host, count in _by_host(entries).items())


def mpich_hostfile(entries: Iterable[Entry]) -> str:
    """For ``mpiexec -f`` of MPICH and what is made of it: ``host:N``, each host once."""
    return "".join(f"{host}:{count}\n" for host, count in _by_host(entries).items())


def openmp_places(cores: Sequence[int], cores_per_place: int = 1) -> str:
    """For ``OMP_PLACES``: a place for each core, ``{0},{1}``, or for so many together, ``{0:4},{4:4}``; cores that do
    not follow each other are named one by one, ``{0,1,8}`` (OpenMP API 5.2, section 21.1.6)."""
    places = [tuple(cores[at : at + cores_per_place]) for at in range(0, len(cores), cores_per_place)]
    return ",".join("{" + _place(place) + "}" for place in places)


def _place(cores: tuple[int, ...]) -> str:
    first = cores[0]
    if len(cores) > 1 and cores == tuple(range(first, first + len(cores))):
        return f"{first}:{len(cores)}"
    return ",".join(map(str, cores))


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in ascending order, those that follow each other as one range: ``0-3,8``."""
    pieces: list[list[int]] = []
    for number in sorted(numbers):
        if pieces and pieces[-1][-1] == number - 1:
            pieces[-1].append(number)
        else:
            pieces.append([number])
    return ",".join(f"{piece[0]}-{piece[-1]}" if len(piece) > 1 else str(piece[0]) for piece in pieces)


def _by_host(entries: Iterable[Entry]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for entry in entries:
        counts[entry.host] = counts.get(entry.host, 0) + entry.processes
    return {host: count for host, count in counts.items() if count}


def _host(name: str, vnodes: Mapping[str, Vnode]) -> str:
    vnode = vnodes.get(name)
    return _checked(vnode.host or name) if vnode is not None else _checked(name)


def _checked(name: str) -> str:
    if not name or any(character.isspace() or not character.isprintable() for character in name):
        raise ValueError(f"vnode or host {name!r}: allowed in a host list are names without spaces and line ends")
    return name


def _processes(placement: Placement, request: Request) -> list[tuple[str, int]]:
    """Each spot's vnode and its MPI processes: its chunk's ``mpiprocs``, by default 1 where that has cores (PBS
    Professional Reference Guide, "mpiprocs"). Where a chunk is on several vnodes, each gets the part of its processes
    that its cores are of the chunk's; where it is none as asked for (a stripe's share), of all of them."""
    left = [chunk.pieces for chunk in request.chunks]
    found: list[tuple[str, int]] = []
    for spots in _by_chunk(placement):
        amounts = spots[0].amounts
        if len(spots) > 1:
            names = {name for spot in spots for name, _ in spot.amounts}
            amounts = tuple((name, sum(dict(spot.amounts).get(name, 0) for spot in spots)) for name in sorted(names))
        missing, processes = spots[0].chunks, 0
        for number, chunk in enumerate(request.chunks):
            if chunk.amounts == amounts:
                here = min(left[number], missing)
                left[number] -= here
                missing -= here
                processes += here * _ranks(chunk)
        if missing:
            return _in_proportion(placement.spots, sum(chunk.pieces * _ranks(chunk) for chunk in request.chunks))
        found += _in_proportion(spots, processes) if len(spots) > 1 else [(spots[0].vnode, processes)]
    return found


def _by_chunk(placement: Placement) -> list[list[Spot]]:
    """The spots, those together that are parts of one chunk."""
    groups: list[list[Spot]] = []
    for spot in placement.spots:
        if spot.joined:
            groups[-1].append(spot)
        else:
            groups.append([spot])
    return groups


def _in_proportion(spots: Sequence[Spot], processes: int) -> list[tuple[str, int]]:
    """So many processes dealt out along the cores of the spots, so that they add up."""
    cores, passed, dealt = sum(spot.chunks * dict(spot.amounts).get("ncpus", 0) for spot in spots), 0, 0
    found: list[tuple[str, int]] = []
    for spot in spots:
        passed += spot.chunks * dict(spot.amounts).get("ncpus", 0)
        due = processes * passed // cores if cores else 0
        found.append((spot.vnode, due - dealt))
        dealt = due
    return found


def _ranks(chunk: Chunk) -> int:
    return chunk.mpiprocs if chunk.mpiprocs is not None else int(chunk.cores > 0)
