"""The small clusters in docs/policies.md: one or more for each policy.

Each is given in the engine's terms: a workload with the policies to replay it under, or a snapshot to decide on. The
page's pictures and worked examples are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from policy import Job, Queue, Reading, Request, Run, Settings, Snapshot, Vnode, parse_request
from policy.model.allocation import parse_exec_vnode
from policy.model.job_preferences import RankPreference, Requirements
from policy.model.jobs_runs_vnodes_queues import HardLimits
from policy.model.limit_attributes import Limits, parse_limits
from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import QuotaSettings
from sim.replay.named_policies import QUEUE, Policy, resolve
from sim.workload.workload import Cluster, TraceJob, Workload

HOUR_S = 3600
GIB_KIB = 1 << 20


class Example(NamedTuple):
    """A workload, its cluster, the names of its jobs (the first word is the id), and the policies to replay it under,
    by their titles.
    """

    workload: Workload
    cluster: Cluster
    names: Mapping[int, str]
    policies: Mapping[str, Policy]


def quota() -> Example:
    """P1: eight cores, four for each of two users. alice has jobs for all eight; bob's job comes two hours later."""
    jobs = [
        _job(1, "alice", 0, 7, 7, 4),
        _job(2, "alice", 0, 5, 5, 2),
        _job(3, "alice", 0, 5, 5, 2),
        _job(4, "bob", 2, 3, 3, 2),
    ]
    example = _example(8, jobs, {job.number: f"{job.number} {job.user}" for job in jobs}, ("hard-limit", "quota"))
    limits = _limits("[u:alice=4],[u:bob=4]")
    queues = {
        "hard-limit": Queue(QUEUE, hard=HardLimits(max_run_res={"ncpus": limits})),
        "quota": Queue(QUEUE, quotas=limits),
    }
    called = {"hard-limit": "hard limits", "quota": "soft quotas"}
    return example._replace(
        policies={called[name]: replace(policy, queue=queues[name]) for name, policy in example.policies.items()}
    )


def priority(need: int) -> Example:
    """P2's second example, on cores instead of GPUs: u1 has all eight; an hour later u2's job 3 requests `need`
    cores.
    """
    jobs = [_job(1, "u1", 0, 6, 6, 4), _job(2, "u1", 0, 6, 6, 4), _job(3, "u2", 1, 2, 2, need)]
    example = _example(8, jobs, {1: "1 u1, class 20", 2: "2 u1, base", 3: "3 u2, class 10"}, ("priority",))
    queue = replace(PRIORITIES, name=QUEUE)
    return example._replace(policies={f"job 3 needs {need}": replace(example.policies["priority"], queue=queue)})


def window() -> Example:
    """P3: A and B run; C, the head, D and E wait. D and E request six hours each, and truly run for two and five."""
    jobs = [
        _job(1, "a", 0, 2, 2, 2),
        _job(2, "b", 0, 6, 6, 2),
        _job(3, "c", 1, 2, 2, 4),
        _job(4, "d", 1, 2, 6, 1),
        _job(5, "e", 1, 5, 6, 1),
    ]
    return _example(4, jobs, dict(enumerate("ABCDE", start=1)), ("easy", "checkpoint"))


def rescue() -> Example:
    """The rescue: job 1 has the whole cluster for five hours; two short jobs arrive after two hours."""
    jobs = [
        _job(1, "long", 0, 5, 7, 8),
        _job(2, "short", 2, 1 / 4, 1 / 3, 4),
        _job(3, "short", 2.25, 1 / 4, 1 / 3, 2),
    ]
    return _example(8, jobs, {job.number: str(job.number) for job in jobs}, ("checkpoint-sjbf", "checkpoint-rescue"))


def moment(example: Example, at_h: float) -> Snapshot:
    """The snapshot of an example after `at_h` hours: its first jobs run, and all jobs submitted since wait."""
    ids = {number: name.split()[0] for number, name in example.names.items()}
    jobs = {
        trace.number: Job(
            ids[trace.number],
            trace.user,
            Request.of_cores(trace.cores),
            QUEUE,
            trace.submit_s,
            trace.estimate_s,
            sequence=trace.number,
        )
        for trace in example.workload.jobs
    }
    first = [trace for trace in example.workload.jobs if not trace.submit_s]
    later = [trace for trace in example.workload.jobs if 0 < trace.submit_s <= at_h * HOUR_S]
    *_, policy = example.policies.values()
    return Snapshot.build(
        at_h * HOUR_S,
        [Vnode("n1", {"ncpus": example.cluster.cores})],
        [policy.queue],
        [jobs[trace.number] for trace in later],
        [
            Run(job.id, job, 0, parse_exec_vnode(f"(n1:ncpus={trace.cores})"), trace.estimate_s)
            for trace in first
            for job in (jobs[trace.number],)
        ],
    )


def _job(number: int, user: str, submit_h: float, run_h: float, estimate_h: float, cores: int) -> TraceJob:
    submit_s, run_s, estimate_s = (round(hours * HOUR_S) for hours in (submit_h, run_h, estimate_h))
    return TraceJob(number, submit_s, run_s, estimate_s, cores, user, user)


def _example(cores: int, jobs: Sequence[TraceJob], names: Mapping[int, str], policies: Sequence[str]) -> Example:
    """An example on one node, with the policies that `pbsteer simulate` has by these names."""
    cluster = Cluster(1, cores)
    workload = Workload("example", cluster, tuple(jobs))
    return Example(workload, cluster, names, {name: resolve(name, workload, cluster) for name in policies})


def _limits(text: str) -> Limits:
    return parse_limits(text, "an example")


# P2: both examples have the same two users.

PRIORITIES = Queue(QUEUE, quotas=_limits("[u:u1=4],[u:u2=8]"), priorities=_limits("[u:u1=20],[u:u2=10]"))
ONLY_CLASSES = Settings(quota=QuotaSettings(preempt=False))


def four_jobs(full: bool) -> Snapshot:
    """P2's first example: u1 requests 2 and 4 cores, u2 4 and 6; on 16 idle cores, or with all held by a run that may
    not be rerun.
    """
    jobs = [
        Job(str(number), user, parse_request(str(cores), ""), QUEUE, 0, HOUR_S, sequence=number)
        for number, (user, cores) in enumerate((("u1", 2), ("u1", 4), ("u2", 4), ("u2", 6)), start=1)
    ]
    other = Job("9", "dave", parse_request("16", ""), QUEUE, 0, HOUR_S, rerunable=False)
    runs = [Run("9", other, 0, parse_exec_vnode("(v1:ncpus=16)"), HOUR_S)] if full else []
    return Snapshot.build(0, [Vnode("v1", {"ncpus": 16})], [PRIORITIES], jobs, runs)


# P4: five vnodes that differ in what is left of them.

RANKED_AT_S = 1000
RANKED = {
    "n1": (24, 32, 80, 63, 990),
    "n2": (16, 96, 50, 45, 990),
    "n3": (32, 120, 90, 36, 700),
    "n4": (8, 112, 40, 54, 990),
    "n5": (28, 64, 20, 72, 990),
}
"""Each vnode's report: what is left of compute, of memory in GiB and of network; its temperature, and the time of the
report.
"""

RANK_PREFERENCE = RankPreference("compute+memory", Requirements(memory_kib=48 * GIB_KIB, temperature=72))


def ranked(*waiting: Job) -> Snapshot:
    """The five vnodes, where n3's report is too old; job 7 runs on half of n2."""
    attributes = {"sockets": "2", "cores_per_socket": "16"}
    job = Job("7", "dave", parse_request("16", ""), QUEUE, 0)
    return Snapshot.build(
        RANKED_AT_S,
        [Vnode(name, {"ncpus": 32, "mem": 128 * GIB_KIB}, attributes=attributes) for name in RANKED],
        [Queue(QUEUE)],
        waiting,
        [Run("7", job, 500, parse_exec_vnode("(n2:ncpus=16)"), 5000)],
        readings={
            name: Reading(at_s, compute, 32, memory * GIB_KIB, 128 * GIB_KIB, network, 100, temperature, 90)
            for name, (compute, memory, network, temperature, at_s) in RANKED.items()
        },
    )


def ranked_job(number: int, needs: Requirements = RANK_PREFERENCE.needs) -> Job:
    """A job like job 8, with these requirements for its vnodes."""
    request = parse_request("2:ncpus=12:mem=24gb:mpiprocs=4:ompthreads=3", "scatter")
    return Job(
        str(number), "alice", request, QUEUE, 0, HOUR_S, sequence=number, rank=RANK_PREFERENCE._replace(needs=needs)
    )


# P5: four idle nodes of 32 cores, and three jobs of 64 ranks.

ONE_CHUNK = "1:ncpus=64:mpiprocs=64:mem=64gb"
SINGLE_CORES = "64:ncpus=1:mpiprocs=1"


def stripes(
    layout: str, selects: Sequence[str] = (SINGLE_CORES,) * 3, stagger_s: float = 0
) -> tuple[Snapshot, Settings]:
    """The jobs with these selects under one layout."""
    jobs = [
        Job(str(number), "alice", parse_request(select, ""), QUEUE, 0, HOUR_S, sequence=number)
        for number, select in enumerate(selects, start=1)
    ]
    vnodes = [Vnode(f"n{number}", {"ncpus": 32, "mem": 128 * GIB_KIB}) for number in range(1, 5)]
    return Snapshot.build(0, vnodes, [Queue(QUEUE)], jobs), Settings(
        stripe=StripeSettings(layout=layout, stagger_s=stagger_s)
    )
