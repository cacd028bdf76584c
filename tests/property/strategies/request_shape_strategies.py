"""Random clusters where it matters how a job asks for its cores: unequal vnodes, and requests of every arrangement."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from policy import Job, Queue, Run, Vnode, parse_request
from policy.model.allocation import Allocation, Spot
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, HardLimits, Window
from policy.model.limit_attributes import parse_limits
from tests.property.strategies.cluster_strategies import NOW_S, Parts, jobs, limit_sets
from tests.property.strategies.made_once import sampled_from

_SELECTS = ("1", "2", "3", "4", "5", "6", "2:ncpus=2", "3:ncpus=2", "2:ncpus=3", "1:ncpus=5", "1:ncpus=2+2:ncpus=1")
_PLACES = ("free", "free", "pack", "pack", "scatter", "scatter", "vscatter", "excl", "scatter:excl", "pack:excl")


@st.composite
def shaped_clusters(draw: st.DrawFn) -> Parts:
    """A first job that needs more than is idle, and jobs of all shapes and many lengths behind it; most vnodes have a
    run that holds a part of it, or all."""
    sharing = st.sampled_from(("default_shared",) * 7 + ("force_excl",))
    cores = st.sampled_from((1, 2, 4, 4, 8))
    vnodes = tuple(
        Vnode(f"v{n}", {"ncpus": draw(cores)}, sharing=draw(sharing)) for n in range(draw(st.integers(2, 5)))
    )
    queues = (Queue("workq", quotas=draw(limit_sets(rarely=True))),)
    runs = []
    for number, vnode in enumerate(vnodes, start=1):
        if held := draw(st.integers(0, vnode.available["ncpus"])):
            job = draw(jobs(number, queues, plain=True))._replace(request=parse_request(str(held)), saved_s=0.0)
            job = job._replace(submit_s=0.0, estimate_s=draw(sampled_from((100.0, 300.0, 1000.0))))
            allocation = Allocation((Spot(vnode.name, (("ncpus", 1),), held),))
            runs.append(Run(job.id, job, NOW_S - 10.0, allocation, NOW_S - 10.0 + job.estimate_s))
    total = sum(vnode.available["ncpus"] for vnode in vnodes)
    waiting = [draw(jobs(100, queues, plain=True))._replace(request=parse_request(str(total)), submit_s=0.0)]
    for number in range(101, 101 + draw(st.integers(1, 6))):
        request = parse_request(draw(sampled_from(_SELECTS)), draw(sampled_from(_PLACES)))
        estimate_s = draw(sampled_from((50.0, 200.0, 5000.0)))
        waiting.append(draw(jobs(number, queues, plain=True))._replace(request=request, estimate_s=estimate_s))
    return Parts(vnodes, queues, tuple(waiting), tuple(runs))


_KINDS = ("ncpus=1", "ncpus=2", "ncpus=4", "ncpus=2:mem=4gb", "ncpus=1:mem=8gb", "ncpus=1:ngpus=1", "ncpus=2:k=a")


@st.composite
def mixed_clusters(draw: st.DrawFn) -> Parts:
    """Few vnodes that differ, some on one host, and jobs of several kinds of chunks, which compete for the same
    vnodes."""
    vnodes = []
    for number in range(draw(st.integers(1, 5))):
        has = {"ncpus": draw(sampled_from((2, 4, 4, 8)))}
        has["mem"] = draw(sampled_from((0, 4, 8, 16))) << 20
        has["ngpus"] = draw(sampled_from((0, 0, 1, 2)))
        attributes = {"k": draw(sampled_from(("a", "b")))}
        vnodes.append(Vnode(f"v{number}", has, host=draw(sampled_from(("", "", "h"))), attributes=attributes))
    queues = (Queue("workq"),)
    runs = []
    for number, vnode in enumerate(vnodes, start=1):
        if draw(st.booleans()) and (held := draw(st.integers(0, vnode.available["ncpus"]))):
            job = draw(jobs(number, queues, plain=True))._replace(request=parse_request(str(held)), saved_s=0.0)
            job = job._replace(submit_s=0.0, estimate_s=draw(sampled_from((100.0, 300.0, 1000.0))))
            allocation = Allocation((Spot(vnode.name, (("ncpus", 1),), held),))
            runs.append(Run(job.id, job, NOW_S - 10.0, allocation, NOW_S - 10.0 + job.estimate_s))
    waiting = []
    for number in range(100, 100 + draw(st.integers(1, 3))):
        pieces = [f"{draw(st.integers(1, 2))}:{draw(sampled_from(_KINDS))}" for _ in range(draw(st.integers(2, 3)))]
        waiting.append(draw(jobs(number, queues, plain=True))._replace(request=parse_request("+".join(pieces))))
    return Parts(tuple(vnodes), queues, tuple(waiting), tuple(runs))


_WISHES = ("", "", "", ":mem=2gb", ":ngpus=1", ":k=a", ":mem=1gb:k=a")
_ARRANGEMENTS = ("", "", "", "", "excl", "scatter", "pack", "exclhost", "shared", "vscatter")
_QUOTAS = ("", "[u:alice=4],[u:bob=2],[u:carol=8]", "[u:PBS_GENERIC=3]", "[u:alice=0],[u:bob=6],[u:carol=2]")


@st.composite
def contended_shapes(draw: st.DrawFn) -> Parts:
    """Few vnodes, some on one host or reserved in part, with runs on them; quotas, a hard limit, priorities, and jobs
    of all shapes."""
    vnodes = []
    for number in range(draw(st.integers(1, 4))):
        has = {"ncpus": draw(sampled_from((2, 4, 8)))}
        has["mem"], has["ngpus"] = draw(sampled_from((2, 4, 8))) << 20, draw(sampled_from((0, 1, 2)))
        host = draw(sampled_from(("", "", "", "h")))
        vnodes.append(Vnode(f"v{number}", has, host=host, attributes={"k": draw(sampled_from(("a", "b")))}))
    if draw(st.integers(0, 2)) == 0:
        start_s, kept = NOW_S + draw(sampled_from((-10, 10, 40))), draw(sampled_from((None, 1, 2)))
        amounts = None if kept is None else (("ncpus", kept),)
        window = Window(start_s, start_s + draw(sampled_from((40, 200))), "reservation R1", amounts)
        vnodes[0] = replace(vnodes[0], closed=(window,))
    hard = HardLimits(parse_limits(draw(sampled_from(("", "", "[u:PBS_GENERIC=2]"))), "test"))
    priorities = parse_limits(draw(sampled_from(("", "", "", "[u:alice=20],[u:bob=10]"))), "test")
    queue = Queue("workq", quotas=parse_limits(draw(sampled_from(_QUOTAS)), "test"), hard=hard, priorities=priorities)
    left = {vnode.name: vnode.available["ncpus"] for vnode in vnodes}
    runs: list[Run] = []
    for number in range(draw(st.integers(0, 5))):
        name, cores = draw(st.sampled_from(vnodes)).name, draw(st.integers(1, 4))
        if left[name] >= cores:
            left[name] -= cores
            user, lasts_s = draw(sampled_from(("alice", "bob", "carol"))), draw(sampled_from((60, 100, 200, 1000)))
            start_s = NOW_S - draw(st.integers(0, 50))
            job = Job(str(90 + number), user, parse_request(str(cores)), "workq", start_s, lasts_s)
            allocation = Allocation((Spot(name, (("ncpus", 1),), cores),))
            runs.append(Run(job.id, job, start_s, allocation, start_s + lasts_s))
    waiting = []
    for number in range(1, 1 + draw(st.integers(1, 6))):
        select = draw(st.integers(1, 8).map(str)) if draw(st.booleans()) else _chunk(draw)
        if draw(st.integers(0, 6)) == 0:
            select += f"+{_chunk(draw)}"
        request = parse_request(select, draw(sampled_from(_ARRANGEMENTS)))
        estimate_s = draw(sampled_from((30.0, 60.0, 150.0, 400.0, 5000.0, UNLIMITED_S)))
        user = draw(sampled_from(("alice", "bob", "carol")))
        waiting.append(Job(str(number), user, request, "workq", NOW_S - 10 + number, estimate_s, sequence=number))
    return Parts(tuple(vnodes), (queue,), tuple(waiting), tuple(runs))


def _chunk(draw: st.DrawFn) -> str:
    return f"{draw(st.integers(1, 3))}:ncpus={draw(st.integers(0, 4))}{draw(sampled_from(_WISHES))}"
