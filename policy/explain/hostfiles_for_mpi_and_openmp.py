"""The vnodes of a job in the formats that parallel programs read (docs/policies.md, P4).

A PBS node file, hostfiles for Open MPI and MPICH, and OpenMP places are made from the ranked list of the job's vnodes;
:func:`lists_of` returns all of them, for starts of a plan and for runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from policy.fit.core_binding import sockets_of
from policy.model.allocation import NO_CORES, Allocation, Cores, Spot
from policy.model.job_request import Chunk, Request
from policy.model.jobs_runs_vnodes_queues import Vnode
from policy.plan.plan_types import Plan


class Entry(NamedTuple):
    """What a job has on one vnode: the number of MPI processes, and its sockets and cores (empty if not requested or
    not known)."""

    vnode: str
    host: str
    processes: int
    sockets: tuple[int, ...] = ()
    cores: tuple[int, ...] = ()

    def show(self) -> str:
        """A line of the ranked list: ``v3 sockets 0,1 cores 0-7,12``, in as much detail as is known."""
        parts = (("sockets", self.sockets), ("cores", self.cores))
        return " ".join([self.vnode, *(f"{what} {_ranges(numbers)}" for what, numbers in parts if numbers)])

    def places(self) -> str:
        """Its cores as OpenMP places: one for each process if they divide evenly, else one for each core."""
        each, rest = divmod(len(self.cores), self.processes or 1)
        return openmp_places(self.cores, 1 if rest else each)


class Lists(NamedTuple):
    """The allocation of one run in each format; every line ends with a line feed."""

    ranked: str
    nodes: str
    open_mpi: str
    mpich: str
    places: str


def lists_of(plan: Plan, job_id: str) -> Mapping[str, Lists]:
    """The lists of a job that runs or is started by this plan, by id: several for the subjobs of an array, none for a
    waiting job. Cores are those in the plan's ledger; they are left out for a job that asked for sockets only.

    Raises ValueError for a vnode or host whose name would break a line.
    """
    cluster = plan.started.cluster()
    found = {}
    for run in cluster.runs.values():
        if job_id in (run.id, run.job.id):
            detail = "vnode" if run.job.rank is None else run.job.rank.detail
            allocation, request, vnodes = run.allocation, run.job.request, cluster.vnodes
            entries = ranked_list(allocation, request, vnodes, plan.ledger.cores.get(run.id, NO_CORES))
            if detail != "core":
                entries = tuple(entry._replace(cores=()) for entry in entries)
            found[run.id] = Lists(
                "".join(f"{entry.show()}\n" for entry in entries),
                node_file(allocation, request, vnodes),
                open_mpi_hostfile(entries),
                mpich_hostfile(entries),
                "".join(f"{entry.vnode} {entry.places()}\n" for entry in entries if entry.cores),
            )
    return found


def ranked_list(
    allocation: Allocation, request: Request, vnodes: Mapping[str, Vnode], cores: Cores = MappingProxyType({})
) -> tuple[Entry, ...]:
    """The vnodes of an allocation, each once, in the order of the job's chunks: for a ranked job best first.

    Raises ValueError for a vnode or host whose name would break a line.
    """
    processes: dict[str, int] = {}
    for name, count in _processes(allocation, request):
        processes[name] = processes.get(name, 0) + count
    entries = []
    for name, count in processes.items():
        vnode, numbers = vnodes.get(name) or Vnode(name, {}), cores.get(name, ())
        entries.append(Entry(_checked(name), _host(name, vnodes), count, sockets_of(vnode, numbers), numbers))
    return tuple(entries)


def node_file(allocation: Allocation, request: Request, vnodes: Mapping[str, Vnode]) -> str:
    """The format of ``$PBS_NODEFILE``: a line with the host for each MPI process, chunk by chunk."""
    return "".join(f"{_host(name, vnodes)}\n" * count for name, count in _processes(allocation, request))


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


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in ascending order, consecutive ones as a range: ``0-3,8``."""
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


def _processes(allocation: Allocation, request: Request) -> list[tuple[str, int]]:
    """The vnode of each spot and its MPI processes.

    These are its chunk's ``mpiprocs``, by default 1 for a chunk with cores (PBS Professional Reference Guide,
    "mpiprocs"). A chunk on several vnodes has its processes divided in proportion to its cores there. If a spot matches
    no requested chunk (a stripe's share), all processes are divided in that way.
    """
    left = [chunk.pieces for chunk in request.chunks]
    found: list[tuple[str, int]] = []
    for spots in _by_chunk(allocation):
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
            return _in_proportion(allocation.spots, sum(chunk.pieces * _ranks(chunk) for chunk in request.chunks))
        found += _in_proportion(spots, processes) if len(spots) > 1 else [(spots[0].vnode, processes)]
    return found


def _by_chunk(allocation: Allocation) -> list[list[Spot]]:
    """The spots, grouped if they are parts of one chunk."""
    groups: list[list[Spot]] = []
    for spot in allocation.spots:
        if spot.joined:
            groups[-1].append(spot)
        else:
            groups.append([spot])
    return groups


def _in_proportion(spots: Sequence[Spot], processes: int) -> list[tuple[str, int]]:
    """The processes divided in proportion to the cores of the spots; the sum is kept."""
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
