"""Clusters where jobs are backfilled by shrunk estimates and have to be cut, and where short jobs wait for a rescue."""

from __future__ import annotations

from hypothesis import strategies as st

from policy import Job, Queue, Run, Vnode
from policy.model.allocation import Allocation, Spot
from policy.model.job_request import Request
from tests.property.strategies.cluster_strategies import NOW_S, USERS, Parts
from tests.property.strategies.made_once import sampled_from


@st.composite
def backfilling_clusters(draw: st.DrawFn) -> Parts:
    """A run on each vnode, some soon over and some not for long, and a few idle cores; a wide job waits for the runs to
    end; behind it wait small ones, of which the long ones fit its window by their shrunk estimates alone, and the short
    ones wait for long already. Some of the small ones are arrays, of one subjob or two."""
    vnodes = tuple(Vnode(f"v{number}", {"ncpus": draw(st.integers(3, 6))}) for number in range(draw(st.integers(1, 3))))
    total = sum(vnode.available["ncpus"] for vnode in vnodes)
    saves = st.sampled_from((None, None, None, True, False))

    def job(number: int, cores: int, submit_s: float, estimate_s: float) -> Job:
        owner, rerunable = draw(sampled_from(USERS)), draw(sampled_from((True, True, True, True, False)))
        request = Request.of_cores(cores)
        return Job(
            f"{number}.s", owner, request, "workq", submit_s, estimate_s, sequence=number, rerunable=rerunable,
            saves=draw(saves),
        )  # fmt: skip

    runs: list[Run] = []
    for number, vnode in enumerate(vnodes, 1):
        cores, start_s = vnode.available["ncpus"] - draw(sampled_from((1, 1, 2, 0))), NOW_S - 40
        asked = job(number, cores, start_s, 40 + draw(sampled_from((30, 60, 100, 400))))
        there = Allocation((Spot(vnode.name, (("ncpus", 1),), cores),))
        runs.append(Run(asked.id, asked, start_s, there, start_s + asked.estimate_s))
    wide = job(100, draw(st.integers(max(2, total - 1), total)), NOW_S - 200, draw(sampled_from((20, 100))))
    ago, seconds = st.sampled_from((5.0, 60.0, 130.0)), st.sampled_from((200, 300, 110, 10, 20, 50))
    small = [
        _maybe_array(job(number, draw(st.integers(1, 2)), NOW_S - draw(ago), draw(seconds)), draw(_SUBJOBS))
        for number in range(101, 101 + draw(st.integers(2, 5)))
    ]
    return Parts(vnodes, (Queue("workq"),), (wide, *small), tuple(runs), NOW_S)


_SUBJOBS = st.sampled_from((0, 0, 0, 1, 2))


def _maybe_array(job: Job, subjobs: int) -> Job:
    """The job as an array of so many subjobs; itself where there are none."""
    if not subjobs:
        return job
    return job._replace(id=job.id.replace(".", "[].", 1), subjobs=tuple(range(1, subjobs + 1)))


@st.composite
def waiting_clusters(draw: st.DrawFn) -> Parts:
    """Runs that go on for long hold all cores; short jobs, and perhaps a long one, have waited long enough."""
    vnodes = tuple(Vnode(f"v{number}", {"ncpus": draw(st.integers(2, 6))}) for number in range(draw(st.integers(1, 3))))
    runs: list[Run] = []
    for vnode in vnodes:
        left = vnode.available["ncpus"]
        while left:
            number, cores = len(runs) + 1, draw(st.integers(1, left))
            left -= cores
            start_s, estimate_s = NOW_S - draw(sampled_from((50, 100))), draw(sampled_from((400.0, 600.0)))
            asked = Job(
                f"{number}.s", draw(sampled_from(USERS)), Request.of_cores(cores), "workq", start_s, estimate_s,
                sequence=number, saves=draw(sampled_from((None, True, True))),
            )  # fmt: skip
            there = Allocation((Spot(vnode.name, (("ncpus", 1),), cores),))
            runs.append(Run(asked.id, asked, start_s, there, start_s + estimate_s))
    seconds, ago = st.sampled_from((10.0, 20.0, 10.0, 50.0, 300.0)), st.sampled_from((130.0, 200.0, 60.0))
    waiting = [
        _maybe_array(
            Job(
                f"{number}.s", draw(sampled_from(USERS)), Request.of_cores(draw(st.integers(1, 3))), "workq",
                NOW_S - draw(ago), draw(seconds), sequence=number,
            ),
            draw(_SUBJOBS),
        )
        for number in range(100, 100 + draw(st.integers(1, 4)))
    ]  # fmt: skip
    return Parts(vnodes, (Queue("workq"),), tuple(waiting), tuple(runs), NOW_S)
