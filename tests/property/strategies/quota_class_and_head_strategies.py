"""Sites where quotas, classes and heads meet: whatever the head is, the jobs that wait behind it are often entitled to
cores that others run on."""

from __future__ import annotations

from hypothesis import strategies as st

from policy import Job, Queue, Run, Vnode
from policy.model.allocation import Allocation, Spot
from policy.model.job_request import parse_request
from policy.model.jobs_runs_vnodes_queues import Server, Window
from policy.model.limit_attributes import EntityKey, Limits
from tests.property.strategies.cluster_strategies import NOW_S, Parts
from tests.property.strategies.made_once import sampled_from

WIDE = "9000"
"""The job that waits longest and is likely to be the head."""

_RUNNING = ("alice", "alice", "alice", "bob", "bob", "erin", "carol")
_WAITING = ("carol", "dave", "carol", "dave", "alice", "erin")
_OVER = ("alice", "bob")


@st.composite
def contested_sites(draw: st.DrawFn, *, roomy: bool = False) -> Parts:
    """Runs of users who are over quota, without one, or within it, on nearly all cores and GPUs: some alone on their
    vnodes, some subjobs, some of another queue, some not rerunnable. The head is wide or wants vnodes alone, and is
    anybody's. Behind it wait jobs, and arrays, most of them of users within quota or of a higher class. Quotas stand on
    the queues or on the server, on cores or GPUs; erin has none. A vnode may be reserved for later. Where it is
    ``roomy`` some cores are idle, and the jobs that wait are anybody's and often not rerunnable."""
    kind = draw(sampled_from(("queue", "queue", "server", "gpus", "gpus")))
    names = draw(sampled_from((("workq",), ("workq", "express"))))
    ranked = kind == "queue" and draw(st.booleans())
    vnodes = [_vnode(draw, number, gpus=kind == "gpus") for number in range(draw(st.integers(1, 4)))]
    idle = st.sampled_from((1, 2, 3) if roomy else (0, 0, 0, 1, 2))
    alone, subjobs, elsewhere = draw(_SHARES), draw(_SHARES), draw(_SHARES)
    queues_of_runs = tuple(names[-1] if share else names[0] for share in elsewhere)
    runs: list[Run] = []
    for vnode in vnodes:
        _fill(draw, vnode, queues_of_runs, runs, draw(idle), alone=draw(st.sampled_from(alone)), subjobs=subjobs)
    if draw(sampled_from((False, False, False, True))):
        late_s = NOW_S + draw(sampled_from((100.0, 20_000.0)))
        window = Window(late_s, late_s + 500.0, "reservation R1")
        vnodes[0] = Vnode(vnodes[0].name, vnodes[0].available, closed=(window,))
    jobs = [_head(draw, names, gpus=kind == "gpus")]
    for number in range(9001, 9001 + draw(st.integers(1, 3))):
        cores, gpus = draw(sampled_from((1, 2, 4))), 1 if kind == "gpus" else 0
        queue = draw(sampled_from((names[0], names[0], names[-1])))
        job = _job(draw, number, draw(sampled_from(_WAITING)), _select(cores, gpus), queue)
        if roomy:
            job = job._replace(user=draw(sampled_from(_RUNNING)), rerunable=draw(st.booleans()))
        if draw(sampled_from((False, False, True))):
            job = job._replace(id=f"{number}[]", subjobs=tuple(range(1, 1 + draw(st.integers(1, 2)))))
        jobs.append(job)
    small, large = st.sampled_from((0, 0, 2)), st.sampled_from((8, 16, 32))
    own: dict[EntityKey, int] = {
        ("u", name): draw(small if name in _OVER else large) for name in ("alice", "bob", "carol", "dave")
    }
    low, high = st.sampled_from((0, 1)), st.sampled_from((1, 5, 9))
    ranks: dict[EntityKey, int] = {key: draw(low if key[1] in _OVER else high) for key in own} if ranked else {}
    quotas, server = Limits(own), Server()
    queues = tuple(Queue(name, quotas=quotas, priorities=Limits(ranks)) for name in names)
    if kind == "server":
        server = Server(quotas={"ncpus": quotas})
        queues = tuple(Queue(name) for name in names)
    elif kind == "gpus":
        queues = tuple(Queue(name, other_quotas={"ngpus": quotas}) for name in names)
    return Parts(tuple(vnodes), queues, tuple(jobs), tuple(runs), NOW_S, server)


def _vnode(draw: st.DrawFn, number: int, *, gpus: bool) -> Vnode:
    cores = draw(sampled_from((4, 8)))
    return Vnode(f"v{number}", {"ncpus": cores, **({"ngpus": cores} if gpus else {})})


def _select(cores: int, gpus: int) -> str:
    return f"1:ncpus={cores}:ngpus={cores}" if gpus else f"1:ncpus={cores}"


def _job(draw: st.DrawFn, number: int, user: str, select: str, queue: str, place: str = "") -> Job:
    rerunable = draw(sampled_from((True, True, True, True, False)))
    estimate_s = draw(sampled_from((9000.0, 9000.0, 50.0)))
    submit_s = number - 9000.0
    request = parse_request(select, place)
    return Job(str(number), user, request, queue, submit_s, estimate_s, sequence=number, rerunable=rerunable)


def _head(draw: st.DrawFn, names: tuple[str, ...], *, gpus: bool) -> Job:
    pieces, cores = draw(sampled_from(((1, 4), (2, 4), (1, 8), (2, 2))))
    select = f"{pieces}:ncpus={cores}" + (f":ngpus={cores}" if gpus else "")
    user = draw(sampled_from(("alice", "bob", "erin", "carol", "carol")))
    place = draw(sampled_from(("free", "free", "scatter", "excl")))
    return _job(draw, int(WIDE), user, select, draw(st.sampled_from(names)), place)


_SHARES = st.sampled_from(((False,), (False,), (True, False), (True,)))
"""Of none of the runs at a site, of some, or of all."""


def _fill(
    draw: st.DrawFn,
    vnode: Vnode,
    names: tuple[str, ...],
    runs: list[Run],
    idle: int,
    *,
    alone: bool,
    subjobs: tuple[bool, ...],
) -> None:
    """Runs on all cores of the vnode but the idle ones; or one that has the vnode to itself."""
    left = vnode.available["ncpus"] - idle
    gpus = "ngpus" in vnode.available
    while left > 0:
        number, start_s = len(runs) + 1, NOW_S - draw(sampled_from((10, 500, 2000)))
        cores = min(left, draw(sampled_from((1, 2, 4, 8))))
        left = 0 if alone else left - cores
        estimate_s = draw(sampled_from((2100.0, 4000.0, 9000.0)))
        user, queue = draw(sampled_from(_RUNNING)), draw(st.sampled_from(names))
        its = _job(draw, number, user, _select(cores, gpus), queue, "excl" if alone else "")
        its = its._replace(submit_s=start_s, estimate_s=estimate_s)
        subjob = 1 if draw(st.sampled_from(subjobs)) else None
        if subjob is not None:
            its = its._replace(id=f"{number}[]", subjobs=())
        amounts = (("ncpus", cores), *((("ngpus", cores),) if gpus else ()))
        there = Allocation((Spot(vnode.name, amounts, 1),))
        run_id = its.id if subjob is None else its.subjob_id(subjob)
        runs.append(Run(run_id, its, start_s, there, start_s + estimate_s, subjob=subjob))
