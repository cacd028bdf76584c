"""Seconds of one pass with all policies on, on a large busy cluster that changes by one part in a hundred each time.

Quotas and priorities for half of the users, shrunk estimates and cuts, the rescue, ranked vnodes with differing
readings, layouts learned. What is measured is the pass itself, with its plan's reasons; the changes are applied before.
"""

from __future__ import annotations

import gc
import random
import time
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from policy import Changes, Finished, Job, Ledger, Plan, Queue, Reading, Request, Run, Settings, Snapshot, Vnode, decide
from policy.limits import Limits
from policy.placement import Placement, Spot
from policy.request import Chunk
from policy.settings import (
    BackfillSettings,
    CheckpointSettings,
    RankingSettings,
    RescueSettings,
    StripeSettings,
)
from policy.wishes import Needs, RankWish

USERS = 500
CORES = 64
NOW_S = 1_000_000.0
PASSES = 5
ALL_ON = Settings(
    BackfillSettings("checkpoint", "shortest-first", 0.2, predictor="ratio"),
    checkpoint=CheckpointSettings(saves=True),
    rescue=RescueSettings(enabled=True),
    ranking=RankingSettings("composite"),
    stripe=StripeSettings("learn"),
)


class Site:
    """A cluster that is drawn, and then changes."""

    def __init__(self, vnodes: int, queued: int, seed: int = 1) -> None:
        self._draw = random.Random(seed)
        self._vnodes = vnodes
        self._number = 0
        self._shapes: dict[Request, Request] = {}
        nodes = [Vnode(self._name(n), {"ncpus": CORES, "mem": CORES << 22}) for n in range(vnodes)]
        runs = [run for n in range(vnodes) for run in self._runs(n)]
        jobs = [self._job(NOW_S - self._draw.randrange(86400)) for _ in range(queued)]
        readings = {node.name: self._reading(NOW_S) for node in nodes}
        queue = Queue(
            "workq",
            quotas=Limits({("u", f"u{n}"): vnodes * CORES // USERS for n in range(USERS)}),
            priorities=Limits({("u", f"u{n}"): n % 10 for n in range(0, USERS, 2)}),
        )
        self.snapshot = Snapshot.build(NOW_S, nodes, [queue], jobs, runs, readings=readings)

    def after(self, plan: Plan) -> Snapshot:
        """The cluster 15 s later: the plan carried out, 1 % of runs ended, of waiting jobs and of readings new."""
        draw, now_s, before = self._draw, plan.time_s + 15, plan.started
        runs, jobs = list(before.runs), list(before.jobs)
        ended = draw.sample(runs, len(runs) // 100)
        gone = draw.sample(jobs, len(jobs) // 100)
        let_go = [
            preempt.run.job._replace(saved_s=plan.time_s - preempt.run.start_s)
            for preempt in plan.preempts
            if preempt.id not in ended
        ]
        finished = [self._finished(before.runs[run_id], now_s) for run_id in ended]
        new = [self._job(now_s) for _ in gone]
        names = {self._name(draw.randrange(self._vnodes)) for _ in range(self._vnodes // 100)}
        readings = {name: self._reading(now_s) for name in names}
        return before.apply(Changes(now_s, [*new, *let_go], gone=[*ended, *gone], readings=readings, finished=finished))

    def _finished(self, run: Run, now_s: float) -> Finished:
        job, placement = run.job, run.placement
        fewest = -(-job.cores // CORES)
        vnodes = max(fewest, len(placement.vnodes))
        cpu_s = job.cores * (now_s - run.start_s) * self._draw.uniform(0.5, 1)
        return Finished(
            run.id, job.user, job.application, job.cores, run.start_s, now_s, job.estimate_s, vnodes, fewest, cpu_s
        )

    def _name(self, number: int) -> str:
        return f"v{number:05}"

    def _reading(self, now_s: float) -> Reading:
        draw = self._draw
        return Reading(
            now_s, draw.random() * 1e12, 1e12, draw.randrange(1 << 28), 1 << 28, draw.random() * 1e5, 1e5,
            draw.uniform(20, 90), 95,
        )  # fmt: skip

    def _runs(self, number: int) -> list[Run]:
        """Two runs that leave a vnode few cores or none."""
        draw, name = self._draw, self._name(number)
        idle = draw.choice([0, 0, 0, 1, 2, 4])
        runs = []
        for part in range(2):
            cores = (CORES - idle) // 2 + (part * (CORES - idle) % 2)
            amounts = (("mem", cores << 20), ("ncpus", cores))
            start_s = NOW_S - draw.randrange(86400)
            request = self._same(Request((Chunk(1, amounts),)))
            job = Job(f"r{number}.{part}", f"u{draw.randrange(USERS)}", request, "workq", start_s, 86400, saves=True)
            end_s = NOW_S + draw.randrange(1, 86400)
            runs.append(Run(job.id, job, start_s, Placement((Spot(name, amounts, 1),)), end_s))
        return runs

    def _job(self, submit_s: float) -> Job:
        draw = self._draw
        self._number += 1
        if draw.random() < 0.3:
            request = Request.of_cores(draw.choice([1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 1000]))
        else:
            mem, cores = (
                draw.choice([1, 2, 3, 4, 6, 8, 12, 16]) << 20,
                draw.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64]),
            )
            pieces = draw.choice([1, 1, 1, 2, 3, 4, 6, 8, 16, 64])
            request = Request((Chunk(pieces, (("mem", mem), ("ncpus", cores))),))
        rank = None
        if draw.random() < 0.1:
            needs = Needs(memory_kib=draw.choice([None, 4 << 20]), temperature=draw.choice([None, 70]))
            rank = RankWish(draw.choice(["compute", "memory", "composite"]), needs)
        return Job(
            f"{self._number}.s", f"u{draw.randrange(USERS)}", self._same(request), "workq", submit_s,
            draw.randrange(600, 86400, 600), sequence=self._number, saves=True, rank=rank,
            application=f"app{self._number % 50}",
        )  # fmt: skip

    def _same(self, request: Request) -> Request:
        """Equal requests as one object, as reading a select gives them."""
        return self._shapes.setdefault(request, request)


@pytest.mark.parametrize("queued", [50_000, 100_000, 200_000])
def test_decide_with_all_policies(benchmark: BenchmarkFixture, queued: int) -> None:
    site = Site(10_000, queued)
    ledger = Ledger()
    started_s = time.process_time()
    plan = decide(site.snapshot, ledger, ALL_ON)
    first_s = time.process_time() - started_s
    times_s: list[float] = []
    applied_s: list[float] = []
    reasons: list[int] = []

    def one_pass() -> None:
        nonlocal plan
        began_s = time.process_time()
        snapshot = site.after(plan)
        applied_s.append(time.process_time() - began_s)
        gc.collect()
        began_s = time.process_time()
        plan = decide(snapshot, plan.ledger, ALL_ON)
        reasons.append(sum(len(wait.jobs) for wait in plan.waits))
        times_s.append(time.process_time() - began_s)

    benchmark.pedantic(one_pass, rounds=PASSES)  # type: ignore[no-untyped-call]  # the library's own
    print(  # noqa: T201 - a figure is there to be read
        f"\n10,000 vnodes, 20,000 runs, {queued:,} queued, all policies: first pass {first_s:.2f} s of CPU, then",
        f"median {median(times_s):.2f} s ({min(times_s):.2f} to {max(times_s):.2f});",
        f"{reasons[-1]:,} jobs told why they wait; the changes, drawing them included, {median(applied_s):.2f} s",
    )
