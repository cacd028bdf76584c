"""Random clusters, workloads and settings: all the strategies of the property tests.

A cluster is drawn as its parts: vnodes that differ in cores, memory, GPUs, attributes, state and partition; queues with
quotas and hard limits; runs that fit on what is there (placed here, without the engine's help); waiting jobs of many
shapes. Times are whole seconds, so that ends and submissions often coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from policy import Changes, Job, Ledger, Queue, Run, Settings, Snapshot, Vnode, parse_request
from policy.cluster import UNLIMITED_S, HardLimits, Server
from policy.ledger import Hold
from policy.limits import ALL, GENERIC, EntityKey, Limits
from policy.placement import Placement, Spot, parse_exec_vnode
from policy.settings import (
    BACKFILL_KINDS,
    BACKFILL_ORDERS,
    MODES,
    VICTIM_ORDERS,
    BackfillSettings,
    PassSettings,
    QueueSettings,
    QuotaSettings,
    ServerSettings,
)
from policy.units import show_resource
from sim.workload import Cluster, TraceJob, Workload

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

    def snapshot(self) -> Snapshot:
        return Snapshot.build(self.time_s, self.vnodes, self.queues, self.jobs, self.runs, self.server)


def durations() -> st.SearchStrategy[float]:
    return st.one_of(st.integers(1, 20).map(lambda tens: tens * 10.0), st.just(UNLIMITED_S))


@st.composite
def vnode_lists(draw: st.DrawFn, *, plain: bool = False, most: int = 12) -> tuple[Vnode, ...]:
    """Plain ones are all alike but for their cores, up, shared and in no partition."""
    return tuple(
        draw(_vnodes(f"v{number:02}", plain)) for number in range(draw(st.sampled_from((1, 2, 3, 4, 6, most))))
    )


@st.composite
def _vnodes(draw: st.DrawFn, name: str, plain: bool) -> Vnode:
    cores = draw(st.integers(1, 8))
    if plain:
        return Vnode(name, {"ncpus": cores})
    available = {"ncpus": cores}
    if draw(st.booleans()):
        available["mem"] = draw(st.integers(1, 4)) * 4 * GIB
    if draw(st.integers(0, 3)) == 0:
        available["ngpus"] = draw(st.integers(1, 4))
    state = draw(st.sampled_from(("free",) * 9 + ("offline", "down", "")))
    return Vnode(
        name,
        available,
        host=draw(st.sampled_from((name, name, "h1", "h2"))),
        state=state,
        usable=state == "free",
        attributes=draw(st.sampled_from(({}, {}, {"arch": "linux"}, {"arch": "linux", "switch": "s1,s2"}))),
        partition=draw(st.sampled_from((None,) * 7 + ("P",))),
        sharing=draw(st.sampled_from(("default_shared",) * 5 + ("force_excl", "default_excl", "ignore_excl"))),
    )


def selects() -> st.SearchStrategy[str]:
    """Single cores anywhere most often; else chunks of cores, memory and GPUs, one kind or two, some with wishes."""
    cores = st.sampled_from((2, 1, 3, 4, 6, 8, 16)).map(str)
    chunks = st.builds(_chunk, st.integers(1, 4), st.integers(0, 4), st.integers(0, 8), st.integers(0, 2), _WANTS)
    return st.one_of(cores, chunks, chunks, st.lists(chunks, min_size=2, max_size=2).map("+".join))


_WANTS = st.sampled_from(("", "", "", "", ":arch=linux", ":host=h1"))


def _chunk(pieces: int, cores: int, mem_gib: int, gpus: int, wants: str) -> str:
    mem = f":mem={mem_gib - 4}gb" if mem_gib > 4 else ""
    return f"{pieces}:ncpus={cores}{mem}{f':ngpus={gpus}' if gpus > 1 else ''}{wants}"


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
    numbers = st.sampled_from((0, 0, 2, most // 4, most // 2, most, 2 * most))
    return Limits({entity: draw(numbers) for entity in entities})


@st.composite
def queue_lists(draw: st.DrawFn, *, plain: bool = False) -> tuple[Queue, ...]:
    """One queue with quotas and perhaps more; plain ones are started, managed and without hard limits."""
    names = draw(st.sampled_from((("workq",), ("workq", "express"), ("workq", "express", "gpu"))))
    queues = []
    for name in names:
        queue = Queue(name, quotas=draw(limit_sets()))
        if not plain:
            hard = HardLimits(draw(limit_sets(rarely=True, most=4)), {"ncpus": draw(limit_sets(rarely=True))})
            queue = replace(
                queue,
                hard=hard,
                started=draw(st.sampled_from((True, True, True, False))) if name != "workq" else True,
                managed=name != "gpu" or draw(st.booleans()),
                partition="P" if name == "gpu" else None,
            )
        queues.append(queue)
    return tuple(queues)


@st.composite
def jobs(draw: st.DrawFn, number: int, queues: tuple[Queue, ...], *, plain: bool = False) -> Job:
    """A waiting job; plain ones are not held, not arrays, and ask for single cores anywhere."""
    select = draw(st.sampled_from((2, 1, 3, 4, 6, 8, 16)).map(str) if plain else selects())
    place = "" if plain else draw(places())
    array = not plain and draw(st.integers(0, 6)) == 0
    job = Job(
        f"{number}[].s" if array else f"{number}.s",
        draw(st.sampled_from(USERS)),
        parse_request(select, place),
        draw(st.sampled_from(queues)).name,
        draw(st.integers(0, 20)) * 50,
        draw(durations()),
        draw(st.sampled_from(GROUPS)),
        draw(st.sampled_from(PROJECTS)),
        sequence=number,
        subjobs=tuple(range(1, draw(st.integers(2, 4)))) if array else None,
    )
    if plain:
        return job
    return replace(
        job,
        priority=draw(st.sampled_from((0, 0, 0, 10))),
        rerunable=draw(st.sampled_from((True, True, True, False))),
        urgent=draw(st.booleans()),
        blocked=draw(st.sampled_from(("",) * 6 + ("held",))),
        not_before_s=draw(st.sampled_from((None,) * 6 + (NOW_S - 10.0, NOW_S + 50.0))),
    )


@st.composite
def run_lists(draw: st.DrawFn, vnodes: tuple[Vnode, ...], queues: tuple[Queue, ...], plain: bool) -> tuple[Run, ...]:
    """Runs that together fit on the vnodes; one that is alone on its vnode where it asked for that."""
    room = _Room(vnodes)
    runs = []
    for number, vnode in enumerate(vnodes + vnodes, start=1):
        spots = draw(_spots(room, vnode, vnodes, plain)) if draw(st.sampled_from((True, False))) else ()
        if not spots:
            continue
        job = draw(jobs(number, queues, plain=True))
        select = "+".join(
            ":".join([str(spot.chunks), *(show_resource(*amount) for amount in spot.amounts)]) for spot in spots
        )
        alone = not plain and draw(st.integers(0, 5)) == 0 and room.take_alone(spots)
        request = parse_request(select, "excl" if alone else "")
        start_s = NOW_S - draw(st.integers(0, 12)) * 10
        job = replace(
            job,
            request=request,
            submit_s=min(job.submit_s, start_s),
            rerunable=draw(st.sampled_from((True, True, True, False))),
        )
        exiting = not plain and draw(st.integers(0, 7)) == 0
        runs.append(Run(job.id, job, start_s, Placement(spots), start_s + job.estimate_s, exiting))
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
        cores = draw(st.sampled_from((free["ncpus"], free["ncpus"], max(1, free["ncpus"] // 2))))
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
    count = draw(st.sampled_from((3, 1, 2, 5, most_jobs, 0)))
    waiting = tuple(draw(jobs(100 + number, queues, plain=plain)) for number in range(count))
    server = Server()
    if not plain and draw(st.integers(0, 5)) == 0:
        server = Server("s", HardLimits(draw(limit_sets(rarely=True, most=6))), {"licences": draw(st.integers(0, 3))})
    return Parts(vnodes, queues, waiting, runs, NOW_S, server)


@st.composite
def contended_clusters(draw: st.DrawFn) -> Parts:
    """Clusters on which preemption is likely: two users have small quotas, two large ones, and nothing else binds."""
    parts = draw(clusters(plain=draw(st.booleans()), most_jobs=8))
    owners = st.sampled_from(("alice", "bob", "alice", "carol"))
    claimants = st.sampled_from(("carol", "dave", "carol", "alice"))
    runs = tuple(run._replace(job=replace(run.job, user=draw(owners), queue="workq")) for run in parts.runs)
    waiting = tuple(replace(job, user=draw(claimants), queue="workq") for job in parts.jobs)
    small, large = st.sampled_from((0, 2, 0, 4)), st.sampled_from((16, 8, 40))
    own = {("u", user): draw(small if user in ("alice", "bob") else large) for user in USERS}
    wide: tuple[EntityKey, ...] = (("g", "chem"), ("p", "p1"))
    own.update(
        {
            entity: draw(st.sampled_from((0, 4, 12, 40)))
            for entity in wide
            if draw(st.sampled_from((False,) * 5 + (True,)))
        }
    )
    queues = tuple(replace(queue, quotas=Limits(own), hard=HardLimits()) for queue in parts.queues)
    return replace(parts, queues=queues, jobs=waiting, runs=runs, server=Server())


def eager_settings() -> st.SearchStrategy[Settings]:
    """Settings under which nothing but the victims' own standing keeps a job from preempting."""
    eager = st.builds(QuotaSettings, victim_order=st.sampled_from(VICTIM_ORDERS))
    backfill = st.builds(BackfillSettings, kind=st.sampled_from(BACKFILL_KINDS), order=st.sampled_from(BACKFILL_ORDERS))
    return st.builds(Settings, backfill, eager)


def all_settings() -> st.SearchStrategy[Settings]:
    """Every policy there is, with numbers that matter on the drawn clusters."""
    return st.builds(
        Settings,
        st.builds(
            BackfillSettings,
            kind=st.sampled_from(BACKFILL_KINDS),
            order=st.sampled_from(BACKFILL_ORDERS),
            shrink_factor=st.one_of(st.none(), st.floats(0.01, 0.99)),
            shrink_threshold_s=st.integers(0, 7200),
        ),
        st.builds(
            QuotaSettings,
            preempt=st.sampled_from((True, True, True, False)),
            counted=st.sampled_from(("ncpus", "ncpus", "ncpus", "ngpus")),
            victim_order=st.sampled_from(VICTIM_ORDERS),
            delay_s=st.sampled_from((0, 0, 100)),
            delay_per_core_s=st.sampled_from((0, 0, 10)),
            urgent_priority=st.sampled_from((1024, 5)),
            exempt_s=st.sampled_from((0, 0, 50)),
            max_preemptions=st.integers(0, 3),
            give_up_s=st.integers(1, 1000),
        ),
        st.builds(PassSettings, interval_s=st.integers(1, 60), max_starts=st.sampled_from((1, 3, 500))),
        st.builds(ServerSettings, mode=st.sampled_from(MODES)),
        st.lists(
            st.builds(QueueSettings, st.sampled_from(("a", "b", "ü q")), limit_sets(), limit_sets()),
            max_size=3,
            unique_by=lambda queue: queue.name,
        ).map(tuple),
    )


@st.composite
def ledgers(draw: st.DrawFn, parts: Parts) -> Ledger:
    """What an earlier pass may have left: counts of preemptions, promises, runs that were backfilled."""
    runs = [run.id for run in parts.runs]
    waiting = [job.id for job in parts.jobs if not job.blocked]
    counts = st.integers(0, 3)
    preemptions = {run: draw(counts) for run in runs if draw(st.booleans())}
    promises = {job: float(NOW_S + draw(st.integers(0, 200))) for job in waiting[:1] if draw(st.booleans())}
    backfilled = {run: float(NOW_S - 10) for run in runs if draw(st.booleans())}
    return Ledger(promises, {}, preemptions, backfilled)


NAMES = st.text(
    st.characters(blacklist_characters="\"]'[", blacklist_categories=("Cs", "Cc", "Z")), min_size=1, max_size=12
)
"""Names as an odd site has them: anything printable that PBS's own syntax can carry."""


def placements() -> st.SearchStrategy[Placement]:
    """Placements with pieces of one kind side by side, as PBS writes them."""
    amounts = st.dictionaries(st.sampled_from(("ncpus", "mem", "ngpus", "fpgas")), st.integers(1, 1 << 40), max_size=4)
    vnodes = st.text("abcdefgh0123456789-._", min_size=1, max_size=8)
    spot = st.builds(
        lambda name, held, n: Spot(name, tuple(sorted(held.items())), n), vnodes, amounts, st.integers(1, 3)
    )
    return st.lists(spot, min_size=1, max_size=5).map(
        lambda spots: parse_exec_vnode(Placement(tuple(spots)).exec_vnode())
    )


def any_ledgers() -> st.SearchStrategy[Ledger]:
    """Ledgers of all that a ledger can hold."""
    ids = st.from_regex(r"[0-9]{1,4}(\[[0-9]{0,2}\])?\.srv", fullmatch=True)
    times = st.floats(0, 1e12)
    holds = st.builds(Hold, placements(), st.lists(ids, max_size=3).map(tuple), times)
    return st.builds(
        Ledger,
        st.dictionaries(ids, times, max_size=3),
        st.dictionaries(ids, holds, max_size=3),
        st.dictionaries(ids, st.integers(0, 9), max_size=3),
        st.dictionaries(ids, times, max_size=3),
    )


@st.composite
def any_limits(draw: st.DrawFn) -> Limits:
    """Limits on entities of all kinds, with names as odd as PBS allows."""
    keys = st.one_of(st.tuples(st.sampled_from("ugp"), NAMES), st.sampled_from((("u", GENERIC), ALL)))
    return Limits(draw(st.dictionaries(keys, st.integers(0, 10**12), max_size=5)))


@st.composite
def workloads(draw: st.DrawFn, *, most: int = 25, exact: bool = False) -> tuple[Workload, Cluster]:
    """A trace and its cluster. Exact: each job runs as long as its estimate."""
    cluster = Cluster(draw(st.integers(1, 6)), draw(st.integers(1, 4)))
    trace = []
    submit_s = 0
    for number in range(1, draw(st.integers(1, most)) + 1):
        submit_s += draw(st.sampled_from((0, 0, 5, 10, 40)))
        run_s = draw(st.sampled_from((0, 1, 10, 10, 20, 50, 200)))
        estimate_s = max(1, run_s) if exact else max(1, run_s + draw(st.sampled_from((0, 0, 10, 100))))
        user = draw(st.sampled_from(USERS))
        cores = draw(st.integers(1, cluster.cores))
        trace.append(TraceJob(number, submit_s, max(run_s, 1) if exact else run_s, estimate_s, cores, user, "g"))
    return Workload("drawn", cluster, tuple(trace)), cluster


def shuffles() -> st.SearchStrategy[Callable[[Parts], Parts]]:
    """Ways of putting the same parts into another order."""

    def shuffled(seed: int) -> Callable[[Parts], Parts]:
        def by(text: str) -> int:
            return hash((seed, sum(ord(c) * 31**i for i, c in enumerate(text))))

        return lambda parts: replace(
            parts,
            vnodes=tuple(sorted(parts.vnodes, key=lambda vnode: by(vnode.name))),
            queues=tuple(sorted(parts.queues, key=lambda queue: by(queue.name))),
            jobs=tuple(sorted(parts.jobs, key=lambda job: by(job.id))),
            runs=tuple(sorted(parts.runs, key=lambda run: by(run.id))),
        )

    return st.integers(0, 1 << 16).map(shuffled)


def lively_settings() -> st.SearchStrategy[Settings]:
    """Settings for clusters that live on: nothing that only another kind of pass would show."""
    return all_settings().map(
        lambda settings: replace(settings, schedule=PassSettings(), quota=replace(settings.quota, give_up_s=10_000))
    )


@st.composite
def arrivals(draw: st.DrawFn, parts: Parts) -> tuple[Job, ...]:
    """Jobs that are submitted later, of the users and queues that are there."""
    alike = list(parts.jobs) or [draw(jobs(99, parts.queues, plain=True))]
    count = draw(st.sampled_from((2, 1, 4, 0, 6)))
    coming = []
    for number in range(200, 200 + count):
        drawn = draw(jobs(number, parts.queues, plain=draw(st.booleans())))
        owner = draw(st.sampled_from(alike))
        later_s = NOW_S + draw(st.sampled_from((1, 5, 10, 10, 60, 130)))
        coming.append(replace(drawn, submit_s=later_s, user=owner.user, queue=owner.queue))
    return tuple(coming)


@dataclass(frozen=True)
class Turn:
    """What happens next: the changes, and the cluster as it is after them."""

    changes: Changes
    after: Parts


@st.composite
def turns(draw: st.DrawFn, parts: Parts) -> Turn:
    """Runs that end or are requeued, jobs that come or go, vnodes that come, go or change, a queue's new quotas."""
    time_s = parts.time_s + draw(st.integers(0, 100))
    fate = st.sampled_from(("stays", "stays", "ends", "waits"))
    fates = {run.id: draw(fate) for run in parts.runs}
    deleted = {job.id for job in parts.jobs if draw(st.integers(0, 3)) == 0}
    new = [draw(jobs(300 + number, parts.queues)) for number in range(draw(st.integers(0, 3)))]
    requeued = [run.job for run in parts.runs if fates[run.id] == "waits"]
    altered = [
        replace(job, priority=job.priority + 1)
        for job in parts.jobs
        if job.id not in deleted and draw(st.integers(0, 3)) == 0
    ]
    held = {vnode for run in parts.runs for vnode in run.placement.vnodes if fates[run.id] == "stays"}
    gone = {v.name for v in parts.vnodes if v.name not in held and draw(st.integers(0, 3)) == 0}
    changed = [
        replace(
            v,
            usable=not v.usable,
            state="offline" if v.usable else "free",
            elsewhere={"ncpus": draw(st.integers(0, 1))},
        )
        for v in parts.vnodes
        if v.name not in gone and draw(st.integers(0, 3)) == 0
    ]
    fresh = [draw(_vnodes("w00", plain=False))] if draw(st.booleans()) else []
    queues = [replace(queue, quotas=draw(limit_sets())) for queue in parts.queues if draw(st.integers(0, 2)) == 0]
    changes = Changes(
        time_s,
        [*new, *requeued, *altered],
        (),
        [*(run for run, fate in fates.items() if fate == "ends"), *sorted(deleted)],
        [*changed, *fresh],
        sorted(gone),
        queues,
    )
    vnodes = {v.name: v for v in (*parts.vnodes, *changed, *fresh) if v.name not in gone}
    waiting = {job.id: job for job in (*parts.jobs, *new, *requeued, *altered) if job.id not in deleted}
    after = Parts(
        tuple(vnodes.values()),
        tuple({queue.name: queue for queue in (*parts.queues, *queues)}.values()),
        tuple(waiting.values()),
        tuple(run for run in parts.runs if fates[run.id] == "stays"),
        time_s,
        parts.server,
    )
    return Turn(changes, after)
