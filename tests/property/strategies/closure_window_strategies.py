"""Clusters with windows: reservations of whole vnodes and of parts of them, and times in which a queue is closed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from policy import Queue, Vnode, parse_request
from policy.model.jobs_runs_vnodes_queues import RUNS, STARTS, Window
from tests.property.strategies.cluster_strategies import NOW_S, Parts, jobs, places
from tests.property.strategies.made_once import sampled_from


@st.composite
def windowed(draw: st.DrawFn, clusters: st.SearchStrategy[Parts]) -> Parts:
    """The same clusters with up to three reservations, each on some of the vnodes, and now and then a time in which
    some of the queues run no job, or start none.

    All in one partition: heads of two partitions may each want a host of both alone, windows or not.
    """
    parts = draw(clusters)
    vnodes = [replace(vnode, partition=None) for vnode in parts.vnodes]
    for number in range(draw(sampled_from((1, 2, 3)))):
        start_s, end_s = draw(_spans())
        for index in draw(st.sets(st.integers(0, len(vnodes) - 1), min_size=1)):
            window = Window(start_s, end_s, f"reservation R{number}", draw(_parts_of(vnodes[index])))
            vnodes[index] = replace(vnodes[index], closed=(*vnodes[index].closed, window))
    queues = [replace(queue, partition=None) for queue in parts.queues]
    if draw(st.integers(0, 3)) == 0:
        start_s, end_s = draw(_spans())
        shut = (Window(start_s, end_s, "dedicated time", closed_to=draw(sampled_from((RUNS, STARTS)))),)
        queues = [replace(queue, closed=shut) if draw(st.integers(0, 2)) else queue for queue in queues]
    return replace(parts, vnodes=tuple(vnodes), queues=tuple(queues))


@st.composite
def idle_hosts(draw: st.DrawFn) -> Parts:
    """Two hosts of two vnodes each, some of which go to one job alone, or with their host; nothing runs there."""
    sharing = sampled_from(("default_shared", "default_excl", "default_exclhost", "force_exclhost", "ignore_excl"))
    vnodes = tuple(Vnode(name, {"ncpus": 4}, host=name[0], sharing=draw(sharing)) for name in ("g0", "g1", "h0", "h1"))
    queues = (Queue("workq"),)
    waiting = [
        draw(jobs(number, queues, plain=True))._replace(request=parse_request(f"1:ncpus={cores}", draw(places())))
        for number, cores in enumerate(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    ]
    return Parts(vnodes, queues, tuple(waiting), ())


def _spans() -> st.SearchStrategy[tuple[float, float]]:
    starts = st.integers(-10, 30).map(lambda tens: NOW_S + tens * 10.0)
    return st.tuples(starts, st.integers(1, 20)).map(lambda span: (span[0], span[0] + span[1] * 10.0))


@st.composite
def _parts_of(draw: st.DrawFn, vnode: Vnode) -> tuple[tuple[str, int], ...] | None:
    """Some of the vnode's cores, perhaps of its memory; or all of it."""
    cores, mem = vnode.available["ncpus"], vnode.available.get("mem", 0)
    if cores < 2 or draw(st.booleans()):
        return None
    kept = {"ncpus": draw(st.integers(1, cores - 1)), "mem": draw(sampled_from((0, mem // 2)))}
    return tuple(sorted((name, amount) for name, amount in kept.items() if amount))
