"""A workload of named applications on nodes that jobs share: the engine decides, the contention model says how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from policy import Changes, Job, Ledger, Queue, Settings, Snapshot, Vnode, decide, parse_request
from policy.model.jobs_runs_vnodes_queues import Finished
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import BackfillSettings, QuotaSettings
from sim.replay.node_contention import Contention, Shape
from sim.workload.application_contention_traits import traits_of
from sim.workload.workload import Cluster

NODES = Cluster(16, 32)


class Task(NamedTuple):
    """A job to run: what it is, when it comes, how many cores, and how long packed and alone."""

    application: str
    submit_s: float
    cores: int = 64
    run_s: float = 1000


@dataclass
class Outcome:
    """Start and end of each task by its number, on how many nodes it ran, and what was learned."""

    spans: dict[int, tuple[float, float]] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)

    @property
    def makespan_s(self) -> float:
        """When the last task ended."""
        return max(end_s for _, end_s in self.spans.values())

    def mean_run_s(self, tasks: Sequence[Task], application: str) -> float:
        """The mean run time of the tasks of an application."""
        spans = [self.spans[number] for number, task in enumerate(tasks) if task.application == application]
        return sum(end_s - start_s for start_s, end_s in spans) / len(spans)


def run_shared(tasks: Sequence[Task], layout: str, cluster: Cluster = NODES, **stripe: Any) -> Outcome:
    """Run the tasks to their end under one layout; no task is preempted, and none is killed at its estimate."""
    settings = Settings(
        BackfillSettings(kind="easy"), QuotaSettings(preempt=False), stripe=StripeSettings(layout=layout, **stripe)
    )
    shapes = {str(n): Shape(task.cores, task.run_s, traits_of(task.application)) for n, task in enumerate(tasks)}
    vnodes = [Vnode(f"n{number:03}", {"ncpus": cluster.cores_per_node}) for number in range(cluster.nodes)]
    snapshot = Snapshot.build(0, vnodes, [Queue("workq")])
    contention, outcome = Contention(cluster, shapes), Outcome()
    coming = sorted((task.submit_s, number) for number, task in enumerate(tasks))
    ends: dict[str, float] = {}
    wake_s: list[float] = []
    while coming or ends or snapshot.jobs:
        now_s = min([*ends.values(), *(at_s for at_s, _ in coming[:1]), *wake_s])
        gone = [job_id for job_id, end_s in ends.items() if end_s == now_s]
        finished = [_finished(snapshot, job_id, now_s, cluster) for job_id in gone]
        for job_id, run in zip(gone, finished):
            del ends[job_id]
            outcome.spans[int(job_id)] = (run.start_s, now_s)
            outcome.nodes[int(job_id)] = run.vnodes
        for job_id in gone:
            moved = contention.ended(job_id, now_s)
            ends.update((other, end_s) for other, end_s in moved if other in ends)
        queued = [_job(number, tasks[number]) for at_s, number in coming if at_s == now_s]
        coming = [entry for entry in coming if entry[0] > now_s]
        plan = decide(snapshot.apply(Changes(now_s, queued, gone=gone, finished=finished)), outcome.ledger, settings)
        outcome.ledger, snapshot = plan.ledger, plan.started
        for start in plan.starts:
            ends.update(contention.started(start.id, start.allocation, now_s))
        wake_s = [float(w.reason.number("at_s")) for w in plan.waits if w.reason.code == "staggered"]
    return outcome


def _job(number: int, task: Task) -> Job:
    request = parse_request(f"{task.cores}:ncpus=1")
    estimate_s = 3 * task.run_s
    return Job(
        str(number), "alice", request, "workq", task.submit_s, estimate_s, sequence=number, application=task.application
    )


def _finished(snapshot: Snapshot, job_id: str, now_s: float, cluster: Cluster) -> Finished:
    run = snapshot.runs[job_id]
    job = run.job
    fewest = -(-job.cores // cluster.cores_per_node)
    vnodes = len(run.allocation.vnodes)
    return Finished(job_id, job.user, job.application, job.cores, run.start_s, now_s, job.estimate_s, vnodes, fewest)
