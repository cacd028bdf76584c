"""What the tests of job kinds share: jobs put where pbs_sched puts them and where a pass does, and how to compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from policy.model.allocation import parse_exec_vnode
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings, wait_for_due_pass
from tests.pbs.cluster import PbsCluster


class Shape(NamedTuple):
    """What is the same of two placements that are as good: the cores and the memory of each part of each chunk, and on
    how many vnodes and hosts the job is. A site's own resources are left out: pbs_sched does not look at them unless
    its ``sched_config`` names them, and a pass always does."""

    chunks: Sequence[Sequence[tuple[tuple[str, int], ...]]]
    vnodes: int
    hosts: int


def shape_of(pbs: PbsCluster, exec_vnode: str) -> Shape:
    chunks: list[list[tuple[tuple[str, int], ...]]] = []
    allocation = parse_exec_vnode(exec_vnode)
    for spot in allocation.spots:
        amounts = tuple((name, amount) for name, amount in spot.amounts if name in ("mem", "ncpus"))
        if spot.joined:
            chunks[-1].append(amounts)
        else:
            chunks += [[amounts] for _ in range(spot.chunks)]
    known = pbs.pbsnodes()
    hosts = {known[vnode]["resources_available"]["host"] for vnode in allocation.vnodes}
    return Shape(sorted(sorted(parts) for parts in chunks), len(allocation.vnodes), len(hosts))


def driven(pbs: PbsCluster, *queues: str, **tables: Any) -> None:
    """Put the hooks in and let them drive the queues, ``workq`` where none is named."""
    deploy_and_drive(pbs, quick_settings(**tables), *(queues or ("workq",)))


def run_by_sched(pbs: PbsCluster, **asked: Any) -> dict[str, Any]:
    """What pbs_sched makes of a job of alice's on the idle testbed; it is gone afterwards."""
    pbs.qmgr("set server scheduling = True")
    job_id = pbs.qsub("alice", **asked)
    job = pbs.wait_for_state(job_id, "R")
    pbs.run(["qdel", "-W", "force", "-x", job_id]).demand_success()
    pbs.wait_until(
        lambda: all(not vnode.get("jobs") for vnode in pbs.pbsnodes().values()), 120.0, "no job on any vnode"
    )
    return job


def run_by_pass(pbs: PbsCluster, **asked: Any) -> dict[str, Any]:
    """What a pass makes of the same."""
    return pbs.wait_for_state(pbs.qsub("alice", **asked), "R")


def why_it_waits(pbs: PbsCluster, job_id: str) -> str:
    """The job's comment after a pass that left it alone."""
    wait_for_due_pass(pbs)
    job = pbs.job(job_id)
    assert job["job_state"] in "QHWB", job["job_state"]
    assert last_pass(pbs)["failures"] == []
    return str(job["comment"])
