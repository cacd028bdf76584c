"""Random clusters.

A cluster is drawn as its parts: vnodes that differ in cores, memory, GPUs, attributes, state and partition; queues with
quotas, priorities and hard limits; runs that fit on what is there (placed here, without the engine's help); waiting
jobs of many shapes. Times are whole seconds, so that ends and submissions often coincide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from hypothesis import strategies as st

from policy import Finished, Job, Queue, Reading, Run, Snapshot, Vnode, parse_request
from policy.model.allocation import Allocation, Spot
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, HardLimits, RunLimits, Server
from policy.model.limit_attributes import GENERIC, EntityKey, Limits
from policy.model.pbs_units import show_resource
from policy.order.fair_share_tree import ROOT, FairShareTree, Group
from policy.order.job_sort_formula import read_formula
from policy.order.site_order_settings import BY_QUEUE, ROUND_ROBIN, TOGETHER, FairShare, SiteOrder, SortKey
from tests.policy.clusters import with_owners
from tests.property.strategies.made_once import sampled_from

NOW_S = 1000
USERS = ("alice", "bob", "carol", "dave")
GROUPS = ("chem", "phys")
PROJECTS = ("p1", "p2")
MEM_KIB = 16 << 20
GIB = 1 << 20


@dataclass(frozen=True)
class Parts:
    """A cluster as lists, in the order they were drawn."""

    vnodes: tuple[Vnode, ...]
    queues: tuple[Queue, ...]
    jobs: tuple[Job, ...]
    runs: tuple[Run, ...]
    time_s: float = NOW_S
    server: Server = field(default_factory=Server)
    readings: Mapping[str, Reading] = field(default_factory=dict)
    finished: tuple[Finished, ...] = ()

    def snapshot(self) -> Snapshot:
        return Snapshot.build(
            self.time_s, self.vnodes, self.queues, self.jobs, self.runs, self.server, self.readings, self.finished
        )


def parts_of(snapshot: Snapshot) -> Parts:
    """A snapshot taken apart again."""
    return Parts(
        tuple(snapshot.vnodes.values()),
        tuple(snapshot.queues.values()),
        tuple(snapshot.jobs.values()),
        tuple(snapshot.runs.values()),
        snapshot.time_s,
        snapshot.server,
        snapshot.readings,
        tuple(snapshot.finished),
    )


@cache
def durations() -> st.SearchStrategy[float]:
    return st.one_of(st.integers(1, 20).map(lambda tens: tens * 10.0), st.just(UNLIMITED_S))


@st.composite
def vnode_lists(draw: st.DrawFn, *, plain: bool = False, most: int = 12) -> tuple[Vnode, ...]:
    """Plain ones are all alike but for their cores, up, shared and in no partition."""
    return tuple(
        draw(vnodes_named(f"v{number:02}", plain)) for number in range(draw(sampled_from((1, 2, 3, 4, 6, most))))
    )


@st.composite
def vnodes_named(draw: st.DrawFn, name: str, plain: bool) -> Vnode:
    cores = draw(st.integers(1, 8))
    if plain:
        return Vnode(name, {"ncpus": cores})
    available = {"ncpus": cores}
    if draw(st.booleans()):
        available["mem"] = draw(st.integers(1, 4)) * 4 * GIB
    if draw(st.integers(0, 3)) == 0:
        available["ngpus"] = draw(st.integers(1, 4))
    state = draw(sampled_from(("free",) * 9 + ("offline", "down", "")))
    return Vnode(
        name,
        available,
        host=draw(sampled_from((name, name, "h1", "h2"))),
        state=state,
        usable=state == "free",
        attributes=draw(_ATTRIBUTES),
        partition=draw(sampled_from((None,) * 7 + ("P",))),
        sharing=draw(sampled_from(("default_shared",) * 5 + ("force_excl", "default_excl", "ignore_excl"))),
    )


_ATTRIBUTES = st.sampled_from(({}, {}, {"arch": "linux"}, {"arch": "linux", "switch": "s1,s2"}))


@cache
def selects() -> st.SearchStrategy[str]:
    """Single cores anywhere most often; else chunks of cores, memory and GPUs, one kind or two, some with wishes."""
    chunks = st.builds(_chunk, st.integers(1, 4), st.integers(0, 4), st.integers(0, 8), st.integers(0, 2), _WANTS)
    return st.one_of(_CORES, chunks, chunks, st.lists(chunks, min_size=2, max_size=2).map("+".join))


_CORES = st.sampled_from((2, 1, 3, 4, 6, 8, 16)).map(str)
_WANTS = st.sampled_from(("", "", "", "", ":arch=linux", ":host=h1"))


def _chunk(pieces: int, cores: int, mem_gib: int, gpus: int, wants: str) -> str:
    mem = f":mem={mem_gib - 4}gb" if mem_gib > 4 else ""
    return f"{pieces}:ncpus={cores}{mem}{f':ngpus={gpus}' if gpus > 1 else ''}{wants}"


@cache
def places() -> st.SearchStrategy[str]:
    arrangements = st.sampled_from(("free", "free", "free", "pack", "scatter", "vscatter", "group=switch"))
    sharings = st.sampled_from(("", "", "", "", "shared", "excl", "exclhost"))
    return st.builds(lambda a, s: f"{a}:{s}" if s else a, arrangements, sharings)


@st.composite
def limit_sets(draw: st.DrawFn, *, rarely: bool = False, most: int = 16) -> Limits:
    """Own, generic, group and project entries, or (where rarely, mostly) none at all."""
    if rarely and draw(st.integers(0, 4)):
        return Limits()
    wide: tuple[EntityKey, ...] = (("g", "chem"), ("g", GENERIC), ("p", "p1"))
    own = [("u", user) for user in (*USERS, GENERIC) if draw(st.integers(0, 3))]
    entities: list[EntityKey] = [*own, *(entity for entity in wide if not draw(st.integers(0, 3)))]
    numbers = sampled_from((0, 0, 2, most // 4, most // 2, most, 2 * most))
    return Limits({entity: draw(numbers) for entity in entities})


@st.composite
def rankings(draw: st.DrawFn) -> Limits:
    """Priorities of users and groups, own and generic ones; equal ones are frequent."""
    keys: tuple[EntityKey, ...] = (*(("u", user) for user in (*USERS, GENERIC)), ("g", "chem"), ("g", GENERIC))
    numbers = sampled_from((10, 0, 5, 10, 20))
    return Limits({key: draw(numbers) for key in keys if draw(st.booleans())})


@st.composite
def queue_lists(draw: st.DrawFn, *, plain: bool = False) -> tuple[Queue, ...]:
    """One queue with quotas, perhaps priorities, and perhaps more queues; plain ones are started, managed and without
    hard limits."""
    names = draw(sampled_from((("workq",), ("workq", "express"), ("workq", "express", "gpu"))))
    queues = []
    for name in names:
        ranked = draw(sampled_from((False, False, True)))
        queue = Queue(name, quotas=draw(limit_sets()), priorities=draw(rankings()) if ranked else Limits())
        if not plain:
            hard = HardLimits(draw(limit_sets(rarely=True, most=4)), {"ncpus": draw(limit_sets(rarely=True))})
            queue = replace(
                queue,
                hard=hard,
                started=draw(sampled_from((True, True, True, False))) if name != "workq" else True,
                managed=name != "gpu" or draw(st.booleans()),
                partition="P" if name == "gpu" else None,
                deferrable=draw(sampled_from((False, False, True))),
                priority=draw(sampled_from((0, 0, 50, -50))),
            )
        queues.append(queue)
    return tuple(queues)


@st.composite
def jobs(draw: st.DrawFn, number: int, queues: tuple[Queue, ...], *, plain: bool = False) -> Job:
    """A waiting job; plain ones are not held, not arrays, and ask for single cores anywhere."""
    select = draw(_CORES if plain else selects())
    place = "" if plain else draw(places())
    array = not plain and draw(st.integers(0, 6)) == 0
    job = Job(
        f"{number}[].s" if array else f"{number}.s",
        draw(sampled_from(USERS)),
        parse_request(select, place),
        draw(st.sampled_from(queues)).name,
        draw(st.integers(0, 20)) * 50,
        draw(durations()),
        draw(sampled_from(GROUPS)),
        draw(sampled_from(PROJECTS)),
        sequence=number,
        subjobs=tuple(range(1, draw(st.integers(2, 4)))) if array else None,
        saves=draw(sampled_from((None, None, True, False))),
        saved_s=0.0 if array else draw(sampled_from((0.0, 0.0, 0.0, 30.0, -20.0))),
        deferrable=draw(sampled_from((False, False, True))),
    )
    if plain:
        return job
    return job._replace(
        priority=draw(sampled_from((0, 0, 0, 10))),
        own_priority=draw(sampled_from((0, 0, 5, -3))),
        rerunable=draw(sampled_from((True, True, True, False))),
        urgent=draw(st.booleans()),
        blocked=draw(sampled_from(("",) * 6 + ("held",))),
        not_before_s=draw(sampled_from((None,) * 6 + (NOW_S - 10.0, NOW_S + 50.0))),
    )


@st.composite
def run_lists(draw: st.DrawFn, vnodes: tuple[Vnode, ...], queues: tuple[Queue, ...], plain: bool) -> tuple[Run, ...]:
    """Runs that together fit on the vnodes; one that is alone on its vnode where it asked for that."""
    room = _Room(vnodes)
    runs = []
    for number, vnode in enumerate(vnodes + vnodes, start=1):
        spots = draw(_spots(room, vnode, vnodes, plain)) if draw(sampled_from((True, False))) else ()
        if not spots:
            continue
        job = draw(jobs(number, queues, plain=True))
        select = "+".join(
            ":".join([str(spot.chunks), *(show_resource(*amount) for amount in spot.amounts)]) for spot in spots
        )
        alone = not plain and draw(st.integers(0, 5)) == 0 and room.take_alone(spots)
        request = parse_request(select, "excl" if alone else "")
        start_s = NOW_S - draw(st.integers(0, 12)) * 10
        job = job._replace(
            request=request,
            submit_s=min(job.submit_s, start_s),
            rerunable=draw(sampled_from((True, True, True, False))),
        )
        exiting = not plain and draw(st.integers(0, 7)) == 0
        runs.append(Run(job.id, job, start_s, Allocation(spots), start_s + job.left_s, exiting))
    return tuple(runs)


@st.composite
def _spots(draw: st.DrawFn, room: _Room, first: Vnode, vnodes: tuple[Vnode, ...], plain: bool) -> tuple[Spot, ...]:
    """All or some of what is free on one vnode, and perhaps on another."""
    spots = []
    second = draw(st.sampled_from(vnodes))
    for vnode in (first, second) if draw(st.booleans()) and second.name > first.name else (first,):
        free = room.free(vnode)
        if free["ncpus"] < 1:
            continue
        cores = draw(sampled_from((free["ncpus"], free["ncpus"], max(1, free["ncpus"] // 2))))
        if plain:
            spots.append(Spot(vnode.name, (("ncpus", 1),), cores))
            continue
        mem = draw(st.integers(0, free["mem"] // GIB)) * GIB
        gpus = draw(st.integers(0, free["ngpus"]))
        amounts = {"mem": mem, "ncpus": cores, "ngpus": gpus}
        spots.append(Spot(vnode.name, tuple(sorted((name, n) for name, n in amounts.items() if n)), 1))
    for spot in spots:
        room.take(spot)
    return tuple(spots)


class _Room:
    """What is free on each vnode while runs are drawn."""

    def __init__(self, vnodes: tuple[Vnode, ...]) -> None:
        self._left = {v.name: {"mem": 0, "ngpus": 0, **v.available} for v in vnodes}
        self._vnodes = {v.name: v for v in vnodes}
        self._closed: set[str] = set()

    def free(self, vnode: Vnode) -> dict[str, int]:
        return dict.fromkeys(self._left[vnode.name], 0) if vnode.name in self._closed else self._left[vnode.name]

    def take(self, spot: Spot) -> None:
        left = self._left[spot.vnode]
        for name, amount in spot.amounts:
            left[name] -= amount * spot.chunks
        if self._vnodes[spot.vnode].sharing in ("force_excl", "default_excl"):
            self._closed.add(spot.vnode)

    def take_alone(self, spots: tuple[Spot, ...]) -> bool:
        """Close the vnodes of a run that is alone there; False where it is not."""
        for spot in spots:
            has = self._vnodes[spot.vnode].available
            held = {name: amount * spot.chunks for name, amount in spot.amounts}
            if any(self._left[spot.vnode][name] + held.get(name, 0) != amount for name, amount in has.items()):
                return False
        self._closed.update(spot.vnode for spot in spots)
        return True


@st.composite
def clusters(draw: st.DrawFn, *, plain: bool = False, most_jobs: int = 12) -> Parts:
    """A cluster at :data:`NOW_S`: plain ones are made of plain parts only."""
    vnodes = draw(vnode_lists(plain=plain))
    queues = draw(queue_lists(plain=plain))
    runs = draw(run_lists(vnodes, queues, plain))
    count = draw(sampled_from((3, 1, 2, 5, most_jobs, 0)))
    waiting = tuple(draw(jobs(100 + number, queues, plain=plain)) for number in range(count))
    server = Server()
    if not plain and draw(st.integers(0, 5)) == 0:
        server = Server(
            "s",
            HardLimits(draw(limit_sets(rarely=True, most=6))),
            {"ncpus": draw(st.integers(0, 24))},
        )
    return Parts(vnodes, queues, waiting, runs, NOW_S, server)


_SHARES = FairShareTree(
    [Group("chem", ROOT, 3), Group("phys", ROOT, 1), Group("alice", "chem", 2), Group("bob", "phys", 0)],
    1,
    {"alice": 40.0, "chem": 40.0},
)
_NUMBERS = ("ncpus", "walltime")


def site_orders(queues: Iterable[Queue]) -> st.SearchStrategy[SiteOrder]:
    """The order of the scheduler of these queues: age alone, sort keys, a formula, or fair share; taken in each way;
    with express queues or without."""
    names = tuple(queue.name for queue in queues)
    taken = st.sampled_from((BY_QUEUE, TOGETHER, ROUND_ROBIN))
    express_from = st.sampled_from((None, None, 0, 50))
    plain = st.builds(SiteOrder, queues=st.just(names), taken=taken, express_from=express_from)
    explicit = st.sampled_from(
        (
            {"keys": (SortKey("ncpus", True), SortKey("walltime", False))},
            {"formula": read_formula("walltime - 3 * ncpus", _NUMBERS), "threshold": -20.0},
            {"fair_share": FairShare(_SHARES, read_formula("ncpus", _NUMBERS)), "tree": _SHARES},
        )
    )
    by_number = st.builds(lambda order, what: replace(order, needs=_NUMBERS, **what), plain, explicit)
    return st.one_of(plain, by_number)


@st.composite
def with_run_limits(draw: st.DrawFn, parts: Parts) -> Parts:
    """The cluster with vnodes that limit how many jobs run on them."""
    limits = st.sampled_from((None, None, 1, 2, 0, 3))
    vnodes = tuple(
        replace(vnode, run_limits=RunLimits(draw(limits), draw(limits), draw(limits))) if draw(st.booleans()) else vnode
        for vnode in parts.vnodes
    )
    return replace(
        parts,
        vnodes=vnodes,
        jobs=tuple(with_owners(parts.jobs, vnodes)),
        runs=tuple(run._replace(job=of) for run in parts.runs for of in with_owners([run.job], vnodes)),
    )


def in_site_order(parts: Parts) -> st.SearchStrategy[Parts]:
    """The cluster with its queues in the order of their scheduler, and the numbers of its jobs."""
    return site_orders(parts.queues).map(lambda order: _in_order(parts, order))


def _in_order(parts: Parts, order: SiteOrder) -> Parts:
    def with_numbers(job: Job) -> Job:
        values = (float(job.request.cores), min(job.left_s, 1e6))
        return job._replace(entity=job.user, order_values=values[: len(order.needs)])

    return replace(
        parts,
        queues=tuple(replace(queue, order=order) for queue in parts.queues),
        jobs=tuple(map(with_numbers, parts.jobs)),
        runs=tuple(run._replace(job=with_numbers(run.job)) for run in parts.runs),
    )


@st.composite
def contended_clusters(draw: st.DrawFn, *, ranked: bool = False, plain: bool | None = None) -> Parts:
    """Clusters on which preemption is likely: two users have small quotas (ranked: and low priorities), two large ones,
    and nothing else binds."""
    parts = draw(clusters(plain=draw(st.booleans()) if plain is None else plain, most_jobs=8))
    owners = st.sampled_from(("alice", "bob", "alice", "carol"))
    claimants = st.sampled_from(("carol", "dave", "carol", "alice"))
    runs = tuple(run._replace(job=run.job._replace(user=draw(owners), queue="workq")) for run in parts.runs)
    waiting = tuple(job._replace(user=draw(claimants), queue="workq") for job in parts.jobs)
    small, large = st.sampled_from((0, 2, 0, 4)), st.sampled_from((16, 8, 40))
    low, high = st.sampled_from((0, 1, 1, 2)), st.sampled_from((5, 2, 5, 9))
    own = {("u", user): draw(small if user in ("alice", "bob") else large) for user in USERS}
    wide: tuple[EntityKey, ...] = (("g", "chem"), ("p", "p1"))
    own.update(
        {entity: draw(sampled_from((0, 4, 12, 40))) for entity in wide if draw(sampled_from((False,) * 5 + (True,)))}
    )
    ranks: dict[EntityKey, int] = {}
    if ranked:
        ranks = {("u", user): draw(low if user in ("alice", "bob") else high) for user in USERS if draw(_MOSTLY)}
        ranks.update({key: draw(low) for key in (("g", "chem"), ("g", "phys")) if not draw(_MOSTLY)})
    queues = tuple(
        replace(queue, quotas=Limits(own), priorities=Limits(ranks), hard=HardLimits()) for queue in parts.queues
    )
    return replace(parts, queues=queues, jobs=waiting, runs=runs, server=Server())


_MOSTLY = st.sampled_from((True, True, True, True, False))


@st.composite
def crowded_clusters(draw: st.DrawFn) -> Parts:
    """Many small runs, some over several vnodes, hardly an idle core, and waiting jobs that need the cores of several:
    those of alice and bob run at a low priority or none, those of carol and dave wait with a higher one."""
    vnodes = tuple(Vnode(f"v{n:02}", {"ncpus": draw(st.integers(2, 6))}) for n in range(draw(st.integers(2, 5))))
    free = [vnode.name for vnode in vnodes for _ in range(vnode.available["ncpus"])]
    total = len(free)
    low, high = st.sampled_from((0, 1, 1)), st.sampled_from((5, 5, 9))
    ranks = {("u", user): draw(low if user in ("alice", "bob") else high) for user in USERS}
    quotas = {("u", user): draw(st.sampled_from((0, 2, 4) if user in ("alice", "bob") else (40, 8))) for user in USERS}
    queues = (Queue("workq", quotas=Limits(quotas), priorities=Limits(ranks)),)
    runs: list[Run] = []
    while len(free) > draw(sampled_from((0, 0, 1))):
        number = len(runs) + 1
        cores = free[: draw(st.integers(1, 4))]
        del free[: len(cores)]
        job = draw(jobs(number, queues, plain=True))
        start_s = NOW_S - draw(st.integers(0, 12)) * 10
        job = job._replace(
            user=draw(sampled_from(("alice", "bob"))),
            request=parse_request(str(len(cores))),
            submit_s=min(job.submit_s, start_s),
            rerunable=draw(_MOSTLY),
        )
        spots = tuple(Spot(name, (("ncpus", 1),), cores.count(name)) for name in dict.fromkeys(cores))
        runs.append(Run(job.id, job, start_s, Allocation(spots), start_s + job.left_s))
    waiting = []
    for number in range(100, 100 + draw(sampled_from((1, 2, 4)))):
        job = draw(jobs(number, queues, plain=True))
        request = parse_request(str(draw(st.integers(2, total))))
        waiting.append(job._replace(user=draw(sampled_from(("carol", "dave"))), request=request))
    return Parts(vnodes, queues, tuple(waiting), tuple(runs))
