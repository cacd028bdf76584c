"""The laws of quotas with several resources, on queues and on the server, and with jobs that have vnodes to themselves:
each counted by hand, vnode by vnode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import settings as settings_of_law
from hypothesis import strategies as st

from policy import Ledger, Plan, Request, Run, Settings, decide
from policy.model.allocation import Allocation
from policy.model.job_request import Chunk
from policy.model.limit_attributes import EntityKey, Limits
from policy.settings.site_settings import PrioritySettings, QuotaSettings
from tests.property.oracles import plan_invariants
from tests.property.strategies.cluster_strategies import (
    NOW_S,
    Parts,
    clusters,
    contended_clusters,
    crowded_clusters,
    limit_sets,
)

_RESOURCES = ("ncpus", "ngpus")


def bare(chunk: Chunk) -> Chunk:
    """The chunk without its cores, with a megabyte in their place."""
    amounts = {"mem": 1024, **dict(chunk.amounts)}
    amounts.pop("ncpus", None)
    return chunk._replace(amounts=tuple(sorted(amounts.items())))


def sometimes_bare(request: Request) -> st.SearchStrategy[Request]:
    chunks = request.chunks
    kinds = (chunks, chunks, tuple(map(bare, chunks)), (*chunks, bare(chunks[0])))
    return st.sampled_from(kinds).map(lambda kind: Request(kind, request.place, request.sharing, request.group))


def without_cores(run: Run) -> Run:
    """The run with its memory and GPUs alone, where it has any of these on each vnode."""
    spots = tuple(
        spot._replace(amounts=tuple((name, amount) for name, amount in spot.amounts if name != "ncpus"))
        for spot in run.allocation.spots
    )
    if not all(spot.amounts for spot in spots):
        return run
    chunks = tuple(Chunk(spot.chunks, spot.amounts) for spot in spots)
    request = Request(chunks, sharing=run.job.request.sharing)
    return run._replace(job=run.job._replace(request=request), allocation=Allocation(spots))


@st.composite
def scoped(draw: st.DrawFn) -> Parts:
    """A cluster with quotas on cores and GPUs, of queues and of the server, and one rule: A. Some jobs and runs ask for
    no core, or for none in one of their chunks; half of the jobs cannot be rerun."""
    contended = draw(st.sampled_from((True, True, False)))
    parts = draw(st.one_of(crowded_clusters(), contended_clusters()) if contended else clusters())
    parts = replace(
        parts,
        jobs=tuple(
            job._replace(request=draw(sometimes_bare(job.request)), rerunable=draw(st.booleans())) for job in parts.jobs
        ),
        runs=tuple(draw(st.sampled_from((run, run, without_cores(run)))) for run in parts.runs),
    )
    queues = tuple(
        replace(
            queue,
            quotas=queue.quotas if contended else draw(limit_sets()),
            other_quotas={"ngpus": draw(limit_sets(rarely=True, most=4))},
        )
        for queue in parts.queues
    )
    of_server = {name: draw(limit_sets(rarely=True)) for name in _RESOURCES}
    return replace(parts, queues=queues, server=replace(parts.server, quotas=of_server))


SETTINGS = Settings(quota=QuotaSettings(), priority=PrioritySettings(preempt=False))


def tables(parts: Parts, queue: str) -> Iterator[tuple[str, str, Limits]]:
    """Each limit that binds a queue's jobs: where it stands, on what, and its entries."""
    (of_queue,) = (each for each in parts.queues if each.name == queue)
    for name, limits in of_queue.quotas_by_resource().items():
        yield queue, name, limits
    for name, limits in parts.server.quotas.items():
        yield "", name, limits


def entries(parts: Parts, resident: plan_invariants.Resident) -> Iterator[tuple[str, str, EntityKey, int]]:
    """Each entry that counts something: of a resource that is asked for."""
    job = resident.job
    for scope, name, limits in tables(parts, job.queue):
        if plan_invariants.kept(parts, resident, name):
            for entity, limit in limits.bounds(job.user, job.group, job.project):
                yield scope, name, entity, limit


def used(parts: Parts, plan: Plan, scope: str, name: str, *, gone: bool) -> Counter[EntityKey]:
    """What everybody keeps with the plan's starts; without its victims where they are gone."""
    counts = plan_invariants.use(parts, scope, name)
    for start in plan.starts:
        plan_invariants.add_use(counts, parts, start, scope, name, 1)
    for preempt in plan.preempts if gone else ():
        plan_invariants.add_use(counts, parts, plan_invariants.of_run(preempt.run), scope, name, -1)
    return counts


@settings_of_law(max_examples=100)
@given(scoped())
def test_who_loses_a_run_is_over_and_stays_at_some_quota(parts: Parts) -> None:
    """The user is over some own entry with it, and at or above one without all that the pass takes."""
    plan = decide(parts.snapshot(), Ledger(), SETTINGS)
    for preempt in plan.preempts:
        if preempt.reason.code != "preempted-quota":
            continue
        victim = plan_invariants.of_run(preempt.run)
        own = [entry for entry in entries(parts, victim) if entry[2][0] == "u"]
        before = [used(parts, plan, s, n, gone=False)[e] - limit for s, n, e, limit in entries(parts, victim)]
        after = [used(parts, plan, s, n, gone=True)[e] - limit for s, n, e, limit in own]
        assert max(before) > 0, preempt.id
        assert not own or max(after) >= 0, preempt.id


@given(scoped())
def test_beneficiaries_stay_within_every_quota_where_they_will_be(parts: Parts) -> None:
    plan = decide(parts.snapshot(), Ledger(), SETTINGS)
    waiting = {job.id: job for job in parts.jobs}
    for job_id, hold in plan.ledger.earmarks.items():
        if hold.rule != "quota":
            continue
        resident = plan_invariants.Resident(job_id, waiting[job_id], hold.allocation)
        for scope, name, entity, limit in entries(parts, resident):
            counts = plan_invariants.use(parts, scope, name)
            for preempt in plan.preempts:
                plan_invariants.add_use(counts, parts, plan_invariants.of_run(preempt.run), scope, name, -1)
            plan_invariants.add_use(counts, parts, resident, scope, name, 1)
            assert counts[entity] <= limit, (job_id, scope, name, entity)


@settings_of_law(max_examples=100)
@given(scoped())
def test_what_could_not_be_preempted_starts_within_every_quota(parts: Parts) -> None:
    """With all that the pass starts beside it of the same owners, and no run counted out."""
    plan = decide(parts.snapshot(), Ledger(), SETTINGS)
    for start in plan.starts:
        if start.job.rerunable:
            continue
        for scope, name, entity, limit in entries(
            parts, plan_invariants.Resident(start.id, start.job, start.allocation)
        ):
            counts = plan_invariants.use(parts, scope, name)
            earlier = plan.starts[: plan.starts.index(start) + 1]
            for each in earlier:
                plan_invariants.add_use(counts, parts, each, scope, name, 1)
            for preempt in plan.preempts:
                plan_invariants.add_use(counts, parts, plan_invariants.of_run(preempt.run), scope, name, -1)
            assert counts[entity] <= limit, (start.id, scope, name, entity)


@given(scoped())
def test_the_use_of_each_scope_is_what_its_runs_keep(parts: Parts) -> None:
    snapshot = parts.snapshot()
    for scope in ("", *(queue.name for queue in parts.queues)):
        for name in _RESOURCES:
            counted = {e: amount for e, amount in snapshot.use(scope, name).items() if e[0] != "o"}
            assert counted == {e: amount for e, amount in plan_invariants.use(parts, scope, name).items() if amount}
    assert snapshot.time_s == NOW_S
