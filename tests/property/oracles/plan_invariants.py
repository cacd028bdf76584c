"""What a plan must not do, checked by plain counting vnode by vnode, without the engine's own sets and orders.

Everything here is written from docs/policies.md, "What must always hold", and PBS's rules for ``select`` and ``place``;
it is slow and meant for small clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from policy import Job, Ledger, Plan, Queue, Run, Start, Vnode
from policy.model.allocation import Allocation
from policy.model.job_request import Chunk, Grouping, Request
from policy.model.ledger_between_passes import PROMISE
from policy.model.limit_attributes import EntityKey
from tests.property.strategies.cluster_strategies import Parts

Held = Mapping[tuple[str, str], int]


class Resident(NamedTuple):
    """A holder of some vnodes: a run, a start of the plan, or a job that resources are held for."""

    id: str
    job: Job
    allocation: Allocation


def of_run(run: Run) -> Resident:
    """A run as one of those on the vnodes."""
    return Resident(run.id, run.job, run.allocation)


def residents(parts: Parts, plan: Plan) -> list[Resident]:
    """The holders of the vnodes as soon as the starts are carried out, victims included."""
    return [
        *(Resident(run.id, run.job, run.allocation) for run in parts.runs),
        *(Resident(start.id, start.job, start.allocation) for start in plan.starts),
    ]


def residents_after(parts: Parts, plan: Plan) -> list[Resident]:
    """The holders once the victims are gone and the beneficiaries run: those for which P3 cuts at their promised
    time, when other runs have ended as well."""
    gone = {preempt.id for preempt in plan.preempts} | ended_by_promise(parts, plan)
    stay = [resident for resident in residents(parts, plan) if resident.id not in gone]
    return stay + beneficiaries(parts, plan)


def beneficiaries(parts: Parts, plan: Plan) -> list[Resident]:
    """Those for which resources are held, where they will be."""
    waiting = {job.id: job for job in parts.jobs}
    return [Resident(job, waiting[job], hold.allocation) for job, hold in plan.ledger.earmarks.items()]


def ended_by_promise(parts: Parts, plan: Plan) -> set[str]:
    """The runs that will have ended, by their estimates, when the last of those starts for which P3 cuts."""
    promises = plan.ledger.promises
    at_s = max((promises[job] for job, hold in plan.ledger.earmarks.items() if hold.rule == PROMISE), default=-inf)
    return {run.id for run in parts.runs if run.end_s <= at_s}


def held(there: Iterable[Resident]) -> Counter[tuple[str, str]]:
    """What is held, by vnode and resource."""
    amounts: Counter[tuple[str, str]] = Counter()
    for resident in there:
        for spot in resident.allocation.spots:
            for resource, amount in spot.amounts:
                amounts[spot.vnode, resource] += amount * spot.chunks
    return amounts


def oversubscribed(vnodes: Iterable[Vnode], there: Iterable[Resident]) -> list[str]:
    """Each vnode and resource of which more is held than there is."""
    amounts = held(there)
    by_name = {vnode.name: vnode for vnode in vnodes}
    return [
        f"{name} {resource}: {amount} of {by_name[name].available.get(resource, 0)}"
        for (name, resource), amount in sorted(amounts.items())
        if amount > by_name[name].available.get(resource, 0) - by_name[name].elsewhere.get(resource, 0)
    ]


def over_run_limits(vnodes: Iterable[Vnode], there: Iterable[Resident]) -> Counter[tuple[str, EntityKey]]:
    """How many jobs too many run on each vnode, in all and of each user and group."""
    counts: Counter[tuple[str, EntityKey]] = Counter()
    for resident in there:
        for name in {*resident.allocation.vnodes}:
            for entity in (("o", ""), ("u", resident.job.user), ("g", resident.job.group)):
                counts[name, entity] += 1
    over: Counter[tuple[str, EntityKey]] = Counter()
    for vnode in vnodes:
        for kind, limit in zip("oug", vnode.run_limits or ()):
            for (name, entity), count in counts.items():
                if name == vnode.name and entity[0] == kind and limit is not None and count > limit:
                    over[name, entity] = count - limit
    return over


def wrongly_shared(vnodes: Iterable[Vnode], there: list[Resident]) -> list[str]:
    """Each vnode that a holder should have alone and has not."""
    by_name = {vnode.name: vnode for vnode in vnodes}
    found = []
    for resident in there:
        alone = alone_on(resident, by_name)
        for other in there:
            if other.id != resident.id:
                found += [
                    f"{name}: {resident.id} and {other.id}" for name in alone.intersection(other.allocation.vnodes)
                ]
    return found


def alone_on(resident: Resident, by_name: Mapping[str, Vnode]) -> set[str]:
    """The vnodes that a holder has alone, by what it asks for and by how they share."""
    sharing = resident.job.request.sharing
    alone: set[str] = set()
    for name in resident.allocation.vnodes:
        kind = by_name[name].sharing
        if kind == "ignore_excl":
            continue
        asks = sharing in ("excl", "exclhost")
        forced, default = kind.startswith("force_"), kind.startswith("default_excl")
        if asks or forced or (default and sharing != "shared"):
            alone.add(name)
        if sharing == "exclhost" or (kind.endswith("exclhost") and (forced or not sharing)):
            alone |= {vnode.name for vnode in by_name.values() if host(vnode) == host(by_name[name])}
    return alone


def _gives_host(vnode: Vnode, shares: bool) -> bool:
    return vnode.sharing == "force_exclhost" or (vnode.sharing == "default_exclhost" and not shares)


def host(vnode: Vnode) -> str:
    return vnode.host or vnode.name


def misplaced(vnodes: Iterable[Vnode], queue: Queue, job: Job, allocation: Allocation) -> list[str]:
    """Where a placement is not what the job asked for, or not open to it."""
    by_name = {vnode.name: vnode for vnode in vnodes}
    request = job.request
    problems = [f"{name} takes no jobs" for name in allocation.vnodes if not by_name[name].usable]
    problems += [f"{n} is not the queue's" for n in allocation.vnodes if by_name[n].partition != queue.partition]
    whole = _chunks_of(allocation)
    pieces = Counter(amounts for _, amounts in whole)
    for names, _ in whole:
        if len({host(by_name[name]) for name in names}) > 1:
            problems.append(f"one chunk on {names}")
        if len(names) > 1 and request.place == "vscatter":
            problems.append(f"a scattered chunk parted on {names}")
    asked: Counter[tuple[tuple[str, int], ...]] = Counter()
    for chunk in request.chunks:
        asked[chunk.amounts] += chunk.pieces
    if pieces != asked:
        problems.append(f"placed {dict(pieces)}, asked {dict(asked)}")
    if len({chunk.amounts for chunk in request.chunks}) == len(request.chunks):
        problems += [
            f"{name} is not {chunk.wants}"
            for chunk in request.chunks
            for names, amounts in whole
            for name in names
            if amounts == chunk.amounts and not _is_wanted(by_name[name], chunk)
        ]
    spots = [names[0] for names, _ in whole]
    hosts = [host(by_name[name]) for name in spots]
    if request.place == "pack" and len(set(hosts)) > 1:
        problems.append(f"packed on {hosts}")
    if request.place == "scatter" and len(set(hosts)) < len(hosts):
        problems.append(f"scattered on {hosts}")
    if request.place == "vscatter" and len(set(spots)) < len(spots):
        problems.append(f"scattered on {spots}")
    if request.group:
        sets = [_sets_of(by_name[name], request.group) for name in spots]
        if sets and not set.intersection(*sets):
            open_to = [v for v in by_name.values() if v.usable and v.partition == queue.partition]
            if not request.group.may_span or _some_group_could_hold(open_to, request, request.group):
                problems.append(f"grouped by {request.group} on {spots}")
    return problems


def _sets_of(vnode: Vnode, grouping: Grouping) -> set[tuple[str, str]]:
    """The placement sets that a vnode is in, as resource and value."""
    values = {(name, value) for name in grouping.resources for value in vnode.attributes.get(name, "").split(",")}
    return {each for each in values if each[1] or grouping.has_rest}


def _some_group_could_hold(vnodes: Sequence[Vnode], request: Request, grouping: Grouping) -> bool:
    """Whether the chunks surely fit into vnodes of one value if nothing else ran: each on the first vnode with room,
    and on one that has no other where they are to be apart. A job that no group could hold may go anywhere."""
    values = set().union(*(_sets_of(vnode, grouping) for vnode in vnodes))
    pieces = [chunk for chunk in request.chunks for _ in range(chunk.pieces)]
    for value in values:
        group = [vnode for vnode in vnodes if value in _sets_of(vnode, grouping)]
        hosts = {host(vnode) for vnode in group} if request.place == "pack" else {None}
        for packed in hosts:
            left = {v.name: Counter(v.available) for v in group if packed in (None, host(v))}
            if all(_take(left, group, chunk, request.place) for chunk in pieces):
                return True
    return False


def _take(left: dict[str, Counter[str]], group: Sequence[Vnode], chunk: Chunk, place: str) -> bool:
    """Take a chunk from what is left on the first vnode that has room; False where none has."""
    for vnode in group:
        room = left.get(vnode.name)
        if room is None or not _is_wanted(vnode, chunk) or any(room[r] < amount for r, amount in chunk.amounts):
            continue
        room.subtract(dict(chunk.amounts))
        for other in group:
            if (place == "scatter" and host(other) == host(vnode)) or (place == "vscatter" and other is vnode):
                left.pop(other.name, None)
        return True
    return False


def _chunks_of(allocation: Allocation) -> list[tuple[tuple[str, ...], tuple[tuple[str, int], ...]]]:
    """Each chunk with the vnodes that it is on and what it holds on all of them."""
    chunks: list[tuple[tuple[str, ...], Counter[str]]] = []
    for spot in allocation.spots:
        if spot.joined:
            names, amounts = chunks.pop()
            chunks.append(((*names, spot.vnode), amounts + Counter(dict(spot.amounts))))
        else:
            chunks += [((spot.vnode,), Counter(dict(spot.amounts)))] * spot.chunks
    return [(names, tuple(sorted(amounts.items()))) for names, amounts in chunks]


def _is_wanted(vnode: Vnode, chunk: Chunk) -> bool:
    has = {**vnode.attributes, "host": host(vnode), "vnode": vnode.name}
    return all(value in has.get(name, "").split(",") for name, value in chunk.wants)


def use(parts: Parts, queue: str, counted: str) -> Counter[EntityKey]:
    """What the runs of a queue, or of all where it is "", keep of a resource, by user, group and project."""
    used: Counter[EntityKey] = Counter()
    for run in parts.runs:
        add_use(used, parts, Resident(run.id, run.job, run.allocation), queue, counted, 1)
    return used


def add_use(
    used: Counter[EntityKey], parts: Parts, resident: Resident | Start, queue: str, counted: str, sign: int
) -> None:
    job = resident.job
    if queue in ("", job.queue):
        amount = kept(parts, Resident(resident.id, job, resident.allocation), counted)
        for entity in (("u", job.user), ("g", job.group), ("p", job.project)):
            used[entity] += sign * amount


def kept(parts: Parts, resident: Resident, counted: str) -> int:
    """What a holder keeps others from: all of the vnodes that are its alone, and what is asked for on others; of
    cores at least one for each chunk."""
    by_name = {vnode.name: vnode for vnode in parts.vnodes}
    alone = alone_on(resident, by_name)
    whole = sum(by_name[name].available.get(counted, 0) for name in alone)
    on_these = sum(amount for (name, of), amount in held([resident]).items() if of == counted and name in alone)
    return max(asked(resident.job, counted), resident.job.amount(counted) + whole - on_these)


def asked(job: Job, counted: str) -> int:
    """What a job that shares its vnodes counts with: what it asks for, of cores at least one for each chunk."""
    bare = [chunk.pieces for chunk in job.request.chunks if not dict(chunk.amounts).get("ncpus")]
    return job.amount(counted) + (sum(bare) if counted == "ncpus" else 0)


def fits_without(parts: Parts, plan: Plan, job: Job, stays: str) -> bool:
    """Whether a job of one kind of chunk would have its place in ``plan`` even if this victim stayed."""
    gone = {preempt.id for preempt in plan.preempts} - {stays} | ended_by_promise(parts, plan)
    there = [resident for resident in residents(parts, plan) if resident.id not in gone]
    waiting = {other.id: other for other in parts.jobs}
    there += [Resident(j, waiting[j], h.allocation) for j, h in plan.ledger.earmarks.items() if j != job.id]
    return fits(parts, job, there)


def fits(parts: Parts, job: Job, there: list[Resident]) -> bool:
    """Whether a shared request that is free to go anywhere fits beside those that are there, in whatever way: on each
    host as much as its vnodes hold together."""
    chunks = job.request.chunks
    rooms = [_room(parts, job, chunk, there) for chunk in chunks]
    if any(_pieces_in(chunk, room) < chunk.pieces for chunk, room in zip(chunks, rooms)):
        return False
    if len(chunks) == 1:
        return True
    left = {name: left for room in rooms for vnodes in room.values() for name, left in vnodes.items()}
    suiting = [{where: list(vnodes) for where, vnodes in room.items()} for room in rooms]
    return _all_fit([at for at, chunk in enumerate(chunks) for _ in range(chunk.pieces)], chunks, suiting, left)


_Room = Mapping[str, Mapping[str, Counter[str]]]
"""What is free of all consumables on the vnodes of each host."""


def _room(parts: Parts, job: Job, chunk: Chunk, there: list[Resident]) -> _Room:
    """The vnodes that may take the chunk."""
    queue = next(queue for queue in parts.queues if queue.name == job.queue)
    by_name = {vnode.name: vnode for vnode in parts.vnodes}
    closed = {name for resident in there for name in alone_on(resident, by_name)}
    amounts = held(there)
    room: dict[str, dict[str, Counter[str]]] = {}
    for vnode in parts.vnodes:
        shares = job.request.sharing == "shared"
        lone = vnode.sharing.startswith("force_") or (vnode.sharing.startswith("default_excl") and not shares)
        near = [o.name for o in parts.vnodes if o is vnode or (host(o) == host(vnode) and _gives_host(vnode, shares))]
        busy = any(amounts[name, resource] for name in near for resource in ("ncpus", "mem", "ngpus"))
        if not vnode.usable or vnode.partition != queue.partition or vnode.name in closed or (lone and busy):
            continue
        if _is_wanted(vnode, chunk):
            left = {r: max(0, has - amounts[vnode.name, r]) for r, has in vnode.available.items()}
            room.setdefault(host(vnode), {})[vnode.name] = Counter(left)
    return room


def _pieces_in(chunk: Chunk, room: _Room) -> int:
    """How many pieces of one chunk alone there is room for."""
    sums = [sum(vnodes.values(), Counter[str]()) for vnodes in room.values()]
    return sum(min((left[r] // amount for r, amount in chunk.amounts), default=chunk.pieces) for left in sums)


def _all_fit(
    pieces: Sequence[int],
    chunks: Sequence[Chunk],
    suiting: Sequence[Mapping[str, Sequence[str]]],
    left: dict[str, Counter[str]],
) -> bool:
    """Whether each of the pieces (numbers of chunks) has a host, each tried on each host; a piece takes of the vnodes
    that suit fewest chunks first."""
    if not pieces:
        return True
    chunk, hosts = chunks[pieces[0]], suiting[pieces[0]]
    for names in hosts.values():
        after = {name: Counter(there) for name, there in left.items()}
        ordered = sorted(names, key=lambda name: sum(name in vnodes for each in suiting for vnodes in each.values()))
        taken = all(_take_amount(after, ordered, r, amount) for r, amount in chunk.amounts)
        if taken and _all_fit(pieces[1:], chunks, suiting, after):
            return True
    return False


def _take_amount(left: dict[str, Counter[str]], names: Sequence[str], resource: str, amount: int) -> bool:
    """Take an amount of what these vnodes have left; False if that is too little."""
    for name in names:
        taken = min(amount, left[name][resource])
        left[name][resource] -= taken
        amount -= taken
    return amount == 0


_MOST_TRIED = 5
"""Of this many pieces of several kinds each is tried everywhere."""


def simple(request: Request) -> bool:
    """Whether :func:`fits` can tell."""
    few = len(request.chunks) == 1 or sum(chunk.pieces for chunk in request.chunks) <= _MOST_TRIED
    return few and request.place == "free" and not request.exclusive and request.group is None


def told(plan: Plan) -> object:
    """All that a plan says, as one value to compare."""
    return (plan.time_s, plan.starts, plan.preempts, plan.estimates, plan.reasons(), ledger_told(plan.ledger))


def ledger_told(ledger: Ledger) -> object:
    return tuple(dict(part) if isinstance(part, Mapping) else part for part in ledger.fields().values())
