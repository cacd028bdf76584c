"""The vnodes of a job in the formats that parallel programs read (docs/policies.md, P4).

A PBS node file, hostfiles for Open MPI and MPICH, and OpenMP places are made from the ranked list of the job's vnodes;
:func:`lists_of` returns all of them, for starts of a plan and for runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from policy.fit.core_binding import sockets_of
from policy.model.allocation import NO_CORES, Allocation, Cores, Spot
from policy.model.job_request import Chunk, Request
from policy.model.jobs_runs_vnodes_queues import Job, Vnode
from policy.model.lists_for_programs import Entry, mpich_hostfile, open_mpi_hostfile, ranked_lines, show_entries
from policy.plan.plan_types import Plan


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
            entries = _entries_of(run.id, run.job, run.allocation, plan)
            found[run.id] = Lists(
                ranked_lines(entries),
                node_file(run.allocation, run.job.request, cluster.vnodes),
                open_mpi_hostfile(entries),
                mpich_hostfile(entries),
                "".join(f"{entry.vnode} {entry.places()}\n" for entry in entries if entry.cores),
            )
    return found


def lists_for_hosts(plan: Plan, queues: Collection[str]) -> dict[str, str]:
    """For each start of the plan in these queues whose job asked for sockets or cores, and got some, the text that
    carries its list to its hosts (:func:`policy.model.lists_for_programs.show_entries`)."""
    texts = {}
    for start in plan.starts:
        rank = start.job.rank
        if rank is None or rank.detail == "vnode" or start.job.queue not in queues:
            continue
        try:
            entries = _entries_of(start.id, start.job, start.allocation, plan)
        except ValueError:
            continue
        text = show_entries(entries) if any(entry.sockets for entry in entries) else ""
        if text:
            texts[start.id] = text
    return texts


def _entries_of(run_id: str, job: Job, allocation: Allocation, plan: Plan) -> tuple[Entry, ...]:
    """The ranked list of a run, without cores for a job that asked for sockets only."""
    vnodes, cores = plan.started.cluster().vnodes, plan.ledger.cores.get(run_id, NO_CORES)
    entries = ranked_list(allocation, job.request, vnodes, cores)
    if job.rank is None or job.rank.detail != "core":
        return tuple(entry._replace(cores=()) for entry in entries)
    return entries


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
        has = vnode.available.get("ncpus", 0)
        entries.append(Entry(_checked(name), _host(name, vnodes), count, sockets_of(vnode, numbers), numbers, has))
    return tuple(entries)


def node_file(allocation: Allocation, request: Request, vnodes: Mapping[str, Vnode]) -> str:
    """The format of ``$PBS_NODEFILE``: a line with the host for each MPI process, chunk by chunk."""
    return "".join(f"{_host(name, vnodes)}\n" * count for name, count in _processes(allocation, request))


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
