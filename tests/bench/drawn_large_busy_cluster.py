"""A large busy cluster that is drawn, and then changes by one part in a hundred with each pass.

Two runs a vnode leave few cores or none; queued jobs of many shapes, of many users, groups and projects.
"""

from __future__ import annotations

import random
from dataclasses import replace

from policy import Changes, Finished, Job, Plan, Queue, Reading, Request, Run, Snapshot, Vnode
from policy.model.allocation import Allocation, Spot
from policy.model.job_preferences import RankPreference, Requirements
from policy.model.job_request import Chunk, Grouping
from policy.model.jobs_runs_vnodes_queues import Window
from policy.model.limit_attributes import Limits

USERS = 500
GROUPS = 40
PROJECTS = 100
CORES = 64
NOW_S = 1_000_000.0
HOUR_S = 3600
NO_LIMITS = Limits()


class Site:
    """A cluster that is drawn, and then changes: with these quotas and priorities, and perhaps windows, wishes,
    several vnodes a host, which have :data:`CORES` together, so that most chunks fit no single one of them, or racks,
    of which every second job that asks for more than cores wants to be on one alone."""

    def __init__(
        self,
        vnodes: int,
        queued: int,
        seed: int = 1,
        *,
        quotas: Limits = NO_LIMITS,
        priorities: Limits = NO_LIMITS,
        windows: bool = False,
        vnodes_per_host: int = 1,
        wishes: bool = False,
        racks: int = 0,
    ) -> None:
        self._draw = random.Random(seed)
        self._vnodes = vnodes
        self._per_host = vnodes_per_host
        self._cores = CORES // vnodes_per_host
        self._wishes = wishes
        self._racks = racks
        self._number = 0
        self._shapes: dict[Request, Request] = {}
        amounts = {"ncpus": self._cores, "mem": self._cores << 22}
        nodes = [
            Vnode(self._name(n), amounts, host=f"h{n // vnodes_per_host:05}", attributes=self._attributes(n))
            for n in range(vnodes)
        ]
        queue = Queue("workq", quotas=quotas, priorities=priorities)
        if windows:
            nodes = self._reserved(nodes)
            queue = replace(queue, closed=(Window(NOW_S + 10 * HOUR_S, NOW_S + 12 * HOUR_S, "dedicated time"),))
        runs = [run for n in range(vnodes) for run in self._runs(n)]
        jobs = [self._job(NOW_S - self._draw.randrange(86400)) for _ in range(queued)]
        readings = {node.name: self._reading(NOW_S) for node in nodes} if wishes else {}
        self.snapshot = Snapshot.build(NOW_S, nodes, [queue], jobs, runs, readings=readings)

    def _reserved(self, nodes: list[Vnode]) -> list[Vnode]:
        """Forty reservations in the next two days, each of a hundredth of the vnodes, half of them of half a vnode."""
        draw = self._draw
        closed: dict[int, list[Window]] = {}
        for number in range(40):
            start_s = NOW_S + draw.randrange(0, 48 * HOUR_S, 600)
            part = (("ncpus", self._cores // 2),) if number % 2 else None
            window = Window(start_s, start_s + draw.randrange(600, 6 * HOUR_S, 600), f"reservation R{number}", part)
            first = draw.randrange(self._vnodes)
            for index in range(first, first + max(1, self._vnodes // 100)):
                closed.setdefault(index % self._vnodes, []).append(window)
        # Vnodes of the same reservations have the same windows as one object, as reading them gives.
        same: dict[tuple[Window, ...], tuple[Window, ...]] = {}
        for index, windows in closed.items():
            nodes[index] = replace(nodes[index], closed=same.setdefault(tuple(windows), tuple(windows)))
        return nodes

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
        readings = {name: self._reading(now_s) for name in sorted(names)} if self._wishes else {}
        return before.apply(Changes(now_s, [*new, *let_go], gone=[*ended, *gone], readings=readings, finished=finished))

    def _finished(self, run: Run, now_s: float) -> Finished:
        job, allocation = run.job, run.allocation
        fewest = -(-job.cores // CORES)
        vnodes = max(fewest, len(allocation.vnodes))
        cpu_s = job.cores * (now_s - run.start_s) * self._draw.uniform(0.5, 1)
        return Finished(
            run.id, job.user, job.application, job.cores, run.start_s, now_s, job.estimate_s, vnodes, fewest, cpu_s
        )

    def _attributes(self, number: int) -> dict[str, str]:
        return {"rack": f"r{number * self._racks // self._vnodes:04}"} if self._racks else {}

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
            cores = (self._cores - idle) // 2 + (part * (self._cores - idle) % 2)
            amounts = (("mem", cores << 20), ("ncpus", cores))
            start_s = NOW_S - draw.randrange(86400)
            request = self._same(Request((Chunk(1, amounts),)))
            job = self._owned(Job(f"r{number}.{part}", "", request, "workq", start_s, 86400, saves=True))
            end_s = NOW_S + draw.randrange(1, 86400)
            runs.append(Run(job.id, job, start_s, Allocation((Spot(name, amounts, 1),)), end_s))
        return runs

    def _owned(self, job: Job) -> Job:
        user = self._draw.randrange(USERS)
        project = self._draw.randrange(PROJECTS)
        return job._replace(user=f"u{user}", group=f"g{user % GROUPS}", project=f"p{project}")

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
            group = Grouping(("rack",)) if self._racks and self._number % 2 else None
            request = Request((Chunk(pieces, (("mem", mem), ("ncpus", cores))),), group=group)
        rank = None
        if self._wishes and draw.random() < 0.1:
            needs = Requirements(memory_kib=draw.choice([None, 4 << 20]), temperature=draw.choice([None, 70]))
            rank = RankPreference(draw.choice(["compute", "memory", "composite"]), needs)
        job = Job(
            f"{self._number}.s", "", self._same(request), "workq", submit_s,
            draw.randrange(600, 86400, 600), sequence=self._number, saves=True, rank=rank,
            application=f"app{self._number % 50}",
        )  # fmt: skip
        return self._owned(job)

    def _same(self, request: Request) -> Request:
        """Equal requests as one object, as reading a select gives them."""
        return self._shapes.setdefault(request, request)


def shares(vnodes: int) -> Limits:
    """The same quota for every user; all of them together have all cores."""
    return Limits({("u", f"u{number}"): vnodes * CORES // USERS for number in range(USERS)})


def shares_of_all_kinds(vnodes: int) -> Limits:
    """The same, with quotas of every group and of half of the projects that bind about every second of them."""
    cores = vnodes * CORES
    groups = {("g", f"g{number}"): cores // GROUPS for number in range(GROUPS)}
    projects = {("p", f"p{number}"): cores // PROJECTS for number in range(0, PROJECTS, 2)}
    return Limits({**shares(vnodes).entries, **groups, **projects})


def ten_priorities() -> Limits:
    """Priorities for half of the users."""
    return Limits({("u", f"u{number}"): number % 10 for number in range(0, USERS, 2)})
