"""Seconds of one pass on large clusters that are nearly full, and how they grow with vnodes and queued jobs."""

from __future__ import annotations

import random
import time
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from policy import Job, Ledger, Queue, Request, Run, Settings, Snapshot, Vnode, decide
from policy.model.allocation import Allocation, Spot
from policy.model.job_request import Chunk
from policy.model.limit_attributes import Limits

USERS = 500
CORES = 64
NOW_S = 1_000_000.0


def busy_cluster(vnodes: int, queued: int, seed: int = 1) -> Snapshot:
    """Vnodes with a few cores idle each, two runs a vnode, queued jobs of some thousand shapes of many users."""
    draw = random.Random(seed)
    nodes, runs = [], []
    for number in range(vnodes):
        name = f"v{number:05}"
        nodes.append(Vnode(name, {"ncpus": CORES, "mem": CORES << 22}))
        idle = draw.choice([0, 0, 0, 1, 2, 4])
        for part in range(2):
            cores = (CORES - idle) // 2 + (part * (CORES - idle) % 2)
            amounts = (("mem", cores << 20), ("ncpus", cores))
            start_s = NOW_S - draw.randrange(86400)
            request = Request((Chunk(1, amounts),))
            job = Job(f"{number * 2 + part}.s", f"u{draw.randrange(USERS)}", request, "workq", start_s)
            end_s = NOW_S + draw.randrange(1, 86400)
            runs.append(Run(job.id, job, start_s, Allocation((Spot(name, amounts, 1),)), end_s))
    jobs = []
    for number in range(queued):
        amounts = (("mem", draw.choice([1, 2, 4, 8]) << 20), ("ncpus", draw.choice([1, 2, 4, 8, 16, 32, 48])))
        request = Request((Chunk(draw.choice([1, 1, 1, 2, 4, 8, 16, 64]), amounts),))
        jobs.append(
            Job(
                f"{10**6 + number}.s",
                f"u{draw.randrange(USERS)}",
                request,
                "workq",
                NOW_S - draw.randrange(86400),
                draw.randrange(600, 86400, 600),
                sequence=number,
            )
        )
    quotas = Limits({("u", f"u{number}"): vnodes * CORES // USERS for number in range(USERS)})
    return Snapshot.build(NOW_S, nodes, [Queue("workq", quotas=quotas)], jobs, runs)


@pytest.mark.parametrize("vnodes", [1_000, 10_000])
@pytest.mark.parametrize("queued", [1_000, 10_000, 100_000])
def test_decide(benchmark: BenchmarkFixture, vnodes: int, queued: int) -> None:
    snapshot = busy_cluster(vnodes, queued)
    started_s = time.perf_counter()
    plan = decide(snapshot, Ledger(), Settings())
    first_s = time.perf_counter() - started_s
    settings, ledger = Settings(), plan.ledger
    times_s: list[float] = []

    def one_pass() -> None:
        began_s = time.perf_counter()
        decide(snapshot, ledger, settings)
        times_s.append(time.perf_counter() - began_s)

    benchmark.pedantic(one_pass, rounds=3)  # type: ignore[no-untyped-call]  # the library's own
    benchmark.extra_info.update(first_pass_s=first_s, starts=len(plan.starts), preempts=len(plan.preempts))
    print(  # noqa: T201 - a figure is there to be read
        f"\n{vnodes} vnodes, {queued} queued: first pass {first_s:.3f} s, then {median(times_s):.3f} s,",
        f"{len(plan.starts)} starts, {len(plan.preempts)} preemptions, {len(plan.waits)} reasons",
    )
