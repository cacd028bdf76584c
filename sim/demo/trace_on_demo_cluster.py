"""A recorded workload on the demo cluster: the trace's own cluster, its users' shares as quotas, its jobs as they
arrived.

Jobs arrive by the simulated clock, run for their true run times, and pass through the same hooks as the demo's own
jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from hooks.pbs.custom_resources import RESOURCES
from policy.model.limit_attributes import Limits, show_limits
from sim.demo.site_setup_and_warm_up import SERVER_NAME
from sim.pbs_server.objects.attributes import show_hours
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.requests.manager_changes import Change, Command, Object, Operation, manage
from sim.pbs_server.requests.qmgr import run_line
from sim.pbs_server.server import SimServer
from sim.replay.named_policies import shares
from sim.workload.workload import Cluster, TraceJob, Workload

MOST_NODES = 20_000
QUEUE = "workq"
_HISTORY = "24:00:00"


def furnish_for(clock: Clock, workload: Workload) -> SimServer:
    """A server with the trace's own nodes, its one queue in `drive`, each user's share of the work as the quota.

    ValueError for a trace without a cluster, or with more than :data:`MOST_NODES` nodes.
    """
    cluster = workload.cluster
    if cluster is None:
        raise ValueError(f"{workload.name}: it does not say on which cluster it was recorded")
    if cluster.nodes > MOST_NODES:
        raise ValueError(f"{workload.name}: {cluster.nodes:,} nodes: at most {MOST_NODES:,} are simulated here")
    server = SimServer(SERVER_NAME, clock)
    server.resources.update(RESOURCES)
    server.add_queue(QUEUE)
    digits = len(str(cluster.nodes))
    for number in range(1, cluster.nodes + 1):
        server.add_vnode(f"n{number:0{digits}}", {"ncpus": str(cluster.cores_per_node)})
    for line in (
        f"set server job_history_duration = {_HISTORY}",
        f"set queue {QUEUE} resources_available.pbsteer_mode = drive",
        "set sched default scheduling = false",
    ):
        reply = run_line(server, line)
        if not reply.ok:
            raise RuntimeError(f"{line}: {reply.text}")
    # As a request, not as a line of qmgr: that could not quote a name such as o'brien,x.
    quotas = show_limits(_nameable(shares(workload, cluster)))
    manage(server, Command.SET, Object.QUEUE, QUEUE, [Change("max_run_res_soft", "ncpus", quotas, Operation.SET)])
    return server


_NOT_IN_A_NAME = frozenset('"]')


def _nameable(quotas: Limits) -> Limits:
    """The quotas of the users whose names PBS's syntax of limits can hold."""
    return Limits({key: quota for key, quota in quotas.entries.items() if not _NOT_IN_A_NAME & set(key[1])})


class Arrivals:
    """Submits the trace's jobs one after the other from now on; the first arrives at once."""

    def __init__(self, server: SimServer, workload: Workload, cluster: Cluster) -> None:
        self._server = server
        self._cluster = cluster
        self._jobs: Iterator[TraceJob] = iter(workload.jobs)
        self._begin_s = server.clock.now_s - workload.jobs[0].submit_s
        self._next = next(self._jobs, None)

    def arrive(self) -> None:
        """Submit the jobs that are due, and put the next one on the clock."""
        clock = self._server.clock
        while self._next is not None and self._begin_s + self._next.submit_s <= clock.now_s:
            self._submit(self._next)
            self._next = next(self._jobs, None)
        if self._next is not None:
            clock.after(self._begin_s + self._next.submit_s - clock.now_s, self.arrive)

    def _submit(self, job: TraceJob) -> None:
        attributes = {
            "queue": QUEUE,
            "Job_Name": f"job_{job.number}",
            "Resource_List.select": _select(job.cores, self._cluster.cores_per_node),
            "Resource_List.place": "free",
            "Resource_List.walltime": show_hours(job.estimate_s),
        }
        try:
            self._server.submit(job.user, job.group, attributes, job.run_s)
        except PbsError as error:
            self._server.note(f"job_{job.number}", f"refused: {error.text}")


def _select(cores: int, per_node: int) -> str:
    """Whole nodes, and the rest of the cores on one more."""
    whole, rest = divmod(cores, per_node)
    chunks = [f"{whole}:ncpus={per_node}"] * (whole > 0) + [f"1:ncpus={rest}"] * (rest > 0)
    return "+".join(chunks)
