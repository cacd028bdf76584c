"""A reason that one pass gave one job, with all it was decided on: what is said can be changed, and decided again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from policy import Job, Ledger, Plan, Queue, Settings, Snapshot, decide
from policy.explain.explanation_lines_beside_reason import ExplanationLines
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.limit_attributes import EntityKey, Limits
from policy.order.site_order_settings import SiteOrder
from policy.reasons.reason import Reason
from policy.reasons.reason_names import NumberName
from tests.property.oracles import plan_invariants
from tests.property.oracles.cluster_over_many_passes import History, live
from tests.property.strategies.cluster_strategies import Parts


@dataclass(frozen=True)
class Told:
    """A reason that one pass gave one job, with all that it was decided on."""

    parts: Parts
    ledger: Ledger
    settings: Settings
    snapshot: Snapshot
    plan: Plan
    facts: ExplanationLines
    job: Job
    reason: Reason

    @cached_property
    def sentence(self) -> str:
        return self.reason.sentence(self.job, self.parts.time_s, self.facts.more_of(self.job, self.reason))

    def number(self, name: NumberName) -> int:
        return int(self.reason.number(name))

    def said(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.sentence)

    def story(self) -> str:
        """All of it, in lines."""
        parts, plan = self.parts, self.plan
        things = (*parts.vnodes, *parts.queues, *parts.jobs, *parts.runs, parts.server, parts.readings, self.ledger)
        starts = [start.id for start in plan.starts]
        preempts = [(preempt.id, preempt.beneficiary) for preempt in plan.preempts]
        reasons = {job_id: reason for job_id, (_, reason) in plan.reasons().items()}
        outcome = (self.settings, starts, preempts, reasons, plan.estimates, plan.classes)
        return "\n".join(map(str, (f"{self.job.id}: {self.sentence}", *things, *outcome)))

    # The world, changed

    def with_job(self, **changes: Any) -> Told:
        jobs = tuple(job._replace(**changes) if job.id == self.job.id else job for job in self.parts.jobs)
        return replace(self, parts=replace(self.parts, jobs=jobs))

    def with_queue(self, change: Callable[[Queue], Queue]) -> Told:
        queues = tuple(change(queue) if queue.name == self.job.queue else queue for queue in self.parts.queues)
        return replace(self, parts=replace(self.parts, queues=queues))

    def with_quota(self, entity: EntityKey, limit: int) -> Told:
        return self.with_queue(lambda queue: replace(queue, quotas=with_entry(queue.quotas, entity, limit)))

    def with_quota_named(self, limit: int) -> Told:
        """With another limit where the entry stands that the reason names: on the queue or on the server, for cores or
        for another resource."""
        entity, counted, scope = self._entry()
        if not scope:
            server = self.parts.server
            quotas = {**server.quotas, counted: with_entry(server.quotas[counted], entity, limit)}
            return replace(self, parts=replace(self.parts, server=replace(server, quotas=quotas)))
        if counted == "ncpus":
            return self.with_quota(entity, limit)
        return self.with_queue(
            lambda queue: replace(
                queue,
                other_quotas={
                    **queue.other_quotas,
                    counted: with_entry(queue.other_quotas[counted], entity, limit),
                },
            )
        )

    def with_orders(self, change: Callable[[SiteOrder], SiteOrder]) -> Told:
        """With another order of each scheduler."""
        queues = tuple(
            queue if queue.order is None else replace(queue, order=change(queue.order)) for queue in self.parts.queues
        )
        return replace(self, parts=replace(self.parts, queues=queues))

    def with_ledger(self, **changes: Any) -> Told:
        return replace(self, ledger=self.ledger._replace(**changes))

    def without_jobs(self, gone: Iterable[str]) -> Told:
        ids = set(gone)
        return replace(self, parts=replace(self.parts, jobs=tuple(job for job in self.parts.jobs if job.id not in ids)))

    def without_runs(self, gone: Iterable[str]) -> Told:
        ids = set(gone)
        return replace(self, parts=replace(self.parts, runs=tuple(run for run in self.parts.runs if run.id not in ids)))

    def entity(self) -> EntityKey:
        """The user, group or project that the reason names."""
        kind, name = str(self.reason.number("entity")).split(":")
        return kind, name

    def _entry(self) -> tuple[EntityKey, str, str]:
        """The entry that the reason names: its entity, its resource, and its queue ("" for the server). A priority
        quota is the one of the job's queue."""
        numbers = dict(self.reason.numbers)
        return self.entity(), str(numbers["counted"]), str(numbers.get("queue", self.job.queue))

    def giving_back(self, amount: int) -> Told | None:
        """Without so many of the runs of the entity named that it holds at least so much less; None where it has not so
        much."""
        entity, counted, scope = self._entry()
        gone: list[str] = []
        back = 0
        letting_go = {preempt.id for preempt in self.plan.preempts}
        for run in sorted(self.parts.runs, key=lambda run: plan_invariants.asked(run.job, counted)):
            if run.id in letting_go or scope not in ("", run.job.queue) or entity not in entities_of(run.job):
                continue
            if back < amount:
                gone.append(run.id)
                back += plan_invariants.asked(run.job, counted)
        return self.without_runs(gone) if back >= amount else None

    def at(self, time_s: float) -> Told:
        return replace(self, parts=replace(self.parts, time_s=time_s))

    # Decided again

    def again(self) -> Plan:
        return decide(self.parts.snapshot(), self.ledger, self.settings)

    def reasons_again(self) -> list[Reason]:
        """The job's reason after the change, and what was tried; nothing where it starts."""
        reason = self.again().reason_of(self.job.id)
        return [] if reason is None else [reason, *reason.tried]

    def same_again(self) -> Reason | None:
        """The reason of the same code after the change, where there is one still."""
        return next((reason for reason in self.reasons_again() if reason.code == self.reason.code), None)

    def until(self, time_s: float, *, ends: bool = False) -> History:
        """Let it live so long, while no run ends, or each by its estimate."""
        return live(
            self.parts,
            self.settings,
            (lambda job: job.estimate_s) if ends else (lambda _job: UNLIMITED_S),
            ledger=self.ledger,
            until_s=time_s,
        )

    def starts(self) -> bool:
        """Whether the job starts now, once the victims have gone."""
        return self.job.id in starts_of(self.until(self.parts.time_s))


def starts_of(history: History) -> dict[str, float]:
    """When each job (an array: its first subjob) started first."""
    began: dict[str, float] = {}
    for _, _, plan in history.passes:
        for start in plan.starts:
            began.setdefault(start.job.id, plan.time_s)
    return began


def all_told(parts: Parts, ledger: Ledger, settings: Settings) -> Iterator[Told]:
    """Each reason that a pass gives, with what it tried."""
    snapshot = parts.snapshot()
    plan = decide(snapshot, ledger, settings)
    facts = ExplanationLines(snapshot.cluster(), plan, settings)
    jobs = {job.id: job for job in parts.jobs}
    for job_id, (left, reason) in plan.reasons().items():
        if job_id in jobs and left == jobs[job_id]:
            for each in (reason, *reason.tried):
                yield Told(parts, ledger, settings, snapshot, plan, facts, left, each)


def with_entry(limits: Limits, entity: EntityKey, number: int) -> Limits:
    """The limits with one entry more, or another number for it."""
    return Limits({**limits.entries, entity: number})


def entities_of(job: Job) -> set[EntityKey]:
    """The entities of which entries may count the job."""
    return {("u", job.user), ("g", job.group), ("p", job.project)}
