"""Small clusters for tests that tell one story: vnodes, queues, jobs and runs in one short line each.

A request is PBS's select; a run's place is PBS's exec_vnode, or ``v1=4 v2=2``, vnode and cores, for short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from policy import Job, Ledger, Plan, Queue, Run, Settings, Snapshot, Vnode, decide, parse_request
from policy.model.allocation import Allocation, parse_exec_vnode
from policy.model.limit_attributes import Limits, parse_limits
from policy.settings.site_settings import QuotaSettings

QUEUE = "workq"


def vnode(name: str, ncpus: int = 4, **more: Any) -> Vnode:
    available = {"ncpus": ncpus, **more.pop("has", {})}
    return Vnode(name, available, **more)


def show_cores(allocation: Allocation) -> str:
    """Where a placement is, in short: ``v1=4 v2=2``, vnode and cores in the placement's own order."""
    cores: dict[str, int] = {}
    for spot in allocation.spots:
        cores[spot.vnode] = cores.get(spot.vnode, 0) + spot.chunks * dict(spot.amounts).get("ncpus", 0)
    return " ".join(f"{name}={count}" for name, count in cores.items())


def quotas(text: str) -> Limits:
    return parse_limits(text, "test")


def queue(text: str = "", name: str = QUEUE, **more: Any) -> Queue:
    return Queue(name, quotas=quotas(text), **more)


def job(
    job_id: str,
    user: str = "alice",
    select: str = "1",
    estimate_s: float = 100,
    submit_s: float = 0,
    place: str = "",
    queue_name: str = QUEUE,
    **more: Any,
) -> Job:
    """A waiting job; its id, where it is a number, is also its place among jobs of the same age."""
    number = job_id.split("[", maxsplit=1)[0].split(".", maxsplit=1)[0]
    sequence = int(number) if number.isdigit() else 0
    request = parse_request(select, place)
    return Job(job_id, user, request, queue_name, submit_s, estimate_s, sequence=sequence, **more)


def with_owners(jobs: Iterable[Job], vnodes: Iterable[Vnode]) -> list[Job]:
    """The jobs, with the owner in each request if some vnode limits how many jobs run on it."""
    if all(vnode.run_limits is None for vnode in vnodes):
        return list(jobs)
    return [job._replace(request=job.request.of_owner((job.user, job.group))) for job in jobs]


def place_of(text: str) -> Allocation:
    """``v1=4 v2=2`` or an exec_vnode."""
    if "(" in text:
        return parse_exec_vnode(text)
    pairs = (word.split("=") for word in text.split())
    return parse_exec_vnode("+".join(f"({name}:ncpus={cores})" for name, cores in pairs))


def run(
    run_id: str,
    user: str,
    where: str,
    start_s: float = 0,
    estimate_s: float = 100,
    *,
    exiting: bool = False,
    select: str = "",
    **more: Any,
) -> Run:
    """A run on its place since ``start_s``, asked for as it is placed unless a select is given."""
    allocation = place_of(where)
    asked = select or "+".join(
        ":".join([str(spot.chunks), *(f"{name}={amount}" for name, amount in spot.amounts)])
        for spot in allocation.spots
    )
    of = job(run_id, user, asked, estimate_s, start_s, **more)
    return Run(run_id, of, start_s, allocation, start_s + estimate_s, exiting)


def cluster(
    vnodes: Iterable[Vnode],
    jobs: Iterable[Job] = (),
    runs: Iterable[Run] = (),
    *,
    queues: Iterable[Queue] = (Queue(QUEUE),),
    now_s: float = 10,
    **more: Any,
) -> Snapshot:
    return Snapshot.build(now_s, vnodes, queues, jobs, runs, **more)


def plan_for(snapshot: Snapshot, settings: Settings | None = None, ledger: Ledger | None = None) -> Plan:
    return decide(snapshot, ledger or Ledger(), settings or Settings())


def quota_settings(**changed: Any) -> Settings:
    return Settings(quota=QuotaSettings(**changed))


def starts(plan: Plan) -> dict[str, str]:
    """Started ids and their exec_vnode."""
    return {start.id: start.allocation.exec_vnode() for start in plan.starts}


def started(plan: Plan) -> Iterable[str]:
    return [start.id for start in plan.starts]


def victims(plan: Plan) -> dict[str, str]:
    """Each victim and its beneficiary."""
    return {preempt.id: preempt.beneficiary for preempt in plan.preempts}


def codes(plan: Plan) -> dict[str, str]:
    """Each job left alone and the code of its reason."""
    return {job_id: reason.code for job_id, (_, reason) in plan.reasons().items()}
