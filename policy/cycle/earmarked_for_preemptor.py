"""Earmarks: the cores that only a beneficiary may take, from the pass that preempts for it until it runs
(docs/policies.md, "What happens then").

A beneficiary starts as soon as its cores are free; if its victims do not free them in time, the earmark is dropped and
the job is attempted in queue order again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policy.cycle.where_job_can_start_now import StartPlaces
from policy.eligibility.soft_quotas import Standing
from policy.model.allocation import Allocation
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.ledger_between_passes import CLASS, PROMISE, QUOTA, RESCUE, Backfilled, Earmark
from policy.model.limit_attributes import show_entity
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.plan.plan_types import Preempt
from policy.preemption.victim_selection import Victim
from policy.reasons.reason import Reason, recall, unit_of
from policy.reasons.reason_names import Numbers
from policy.state.closure_windows import NOTHING_CLOSED
from policy.state.free_and_missing_amounts import free_and_missing


class Earmarks:
    """The earmarks of earlier passes and of this one."""

    def __init__(self, context: Context, builder: PlanBuilder) -> None:
        self._context = context
        self._cluster = context.cluster
        self._builder = builder
        self._places = StartPlaces(context)
        self._quotas = context.quotas
        self._classes = context.classes if context.settings.priority.preempt else None
        self._now_s = context.now_s

    def honour(self, tested: Callable[[Job], Backfilled]) -> None:
        """Start the beneficiaries of earlier passes whose cores are free, and renew the earmarks of the others.

        ``tested`` gives the ledger's entry for the run of a rescued job, which counts as backfilled.
        """
        cluster, now_s, ledger = self._cluster, self._now_s, self._context.ledger
        preemption, give_up_s = self._context.preemption, self._context.settings.quota.give_up_s
        for job_id, earmark in sorted(ledger.earmarks.items(), key=self._order):
            job = cluster.jobs.get(job_id)
            if job is None:
                continue
            blocking = self._context.blocking_reason(job)
            # A promise survives a limit that its owner's runs fill until the promised time; so does its earmark.
            if blocking is not None and (
                earmark.rule != PROMISE or self._builder.opens_s(job, blocking) == UNLIMITED_S
            ):
                continue
            if preemption is None and earmark.rule in (QUOTA, CLASS):
                continue
            allowed = cluster.vnodes_of(job.queue)
            still = self._still_there(earmark)
            if not still or now_s - earmark.since_s < give_up_s:
                # While heads hold promises, the victims' cores are needed even if idle ones would do for the job
                # itself.
                early = not still or not ledger.promises
                # Earmarks are honoured before heads have their reservations: on other cores than the earmarked ones
                # the job could delay a promised head. Without its earmark it is attempted after that head.
                elsewhere = not still and not ledger.promises.keys() - {job_id}
                allocation = self._where_now(job, earmark, allowed, elsewhere=elsewhere) if early else None
                if allocation is not None and blocking is None:
                    left = self._builder.start(job, allocation, tested(job) if earmark.rule == RESCUE else None)
                    if left is not None and self._context.classes is not None:
                        self._context.classes.forget(left)
                elif still or (earmark.rule == PROMISE and now_s < ledger.promises.get(job_id, now_s)):
                    # Runs that end by the promised time are to free cores of the earmark, too.
                    self._keep(job, earmark, still)

    def _order(self, item: tuple[str, Earmark]) -> tuple[bool, float, str]:
        """What earmarks are sorted by: first those whose victims have all ended. Else a beneficiary that waits for its
        own victims could start on what those of another have freed on a shared vnode, and the other one would preempt
        a further run."""
        job_id, earmark = item
        return bool(self._still_there(earmark)), earmark.since_s, job_id

    def _still_there(self, earmark: Earmark) -> list[Run]:
        """The victims whose preempted runs have not ended. A victim that has started again since, perhaps in this pass,
        is none of them."""
        runs, begun = self._cluster.runs, {start.id for start in self._builder.starts}
        there = [runs[victim] for victim in earmark.victims if victim in runs and victim not in begun]
        return [run for run in there if run.start_s <= earmark.since_s]

    def begin(self, job: Job, allocation: Allocation, victims: Sequence[Victim], rule: str) -> None:
        """Preempt these runs for the job and earmark what it needs, also what victims of other jobs leave over."""
        victims_of_others = self._builder.victims_under(job, allocation, [victim.run for victim in victims])
        for victim in victims:
            reason = self._why(job, victim.run, victim.standing, rule)
            self._builder.preempts.append(Preempt(victim.run, job.id, reason))
            if rule in (PROMISE, RESCUE) and self._context.preemption is not None:
                self._context.preemption.count_out(victim.run)
        waits_for = (*(victim.run.id for victim in victims), *victims_of_others)
        self._builder.earmark_for(job, Earmark(allocation, waits_for, self._now_s, rule))

    def also(self, job: Job, allocation: Allocation, victim: Run, rule: str) -> None:
        """Earmark for a further job what it needs of the cores that the victim of another job frees."""
        self._builder.earmark_for(job, Earmark(allocation, (victim.id,), self._now_s, rule))

    def _where_now(self, job: Job, earmark: Earmark, allowed: int, elsewhere: bool) -> Allocation | None:
        capacity, windows = self._cluster.capacity, self._context.windows
        closed = NOTHING_CLOSED if windows is None else windows.closed_to(job, self._now_s)
        there = 0
        for share in earmark.allocation.shares(capacity.directory):
            there |= share.mask
        with closed.applied_to(capacity):
            if (
                there
                and not there & ~(allowed & ~closed.vnodes & capacity.open_to(job.request))
                and not free_and_missing(capacity, earmark.allocation)[1]
                and (job.rank is None or self._context.placer.is_good_enough(job, there))
            ):
                return earmark.allocation
        found = self._places.place(job, allowed, closed) if elsewhere else None
        return found if isinstance(found, Allocation) else None

    def _keep(self, job: Job, earmark: Earmark, still: Sequence[Run]) -> None:
        preemption = self._context.preemption
        asked = {preempt.id for preempt in self._builder.preempts}
        for run in still:
            if run.id not in asked:
                reason = self._reason_given(run) or self._why(job, run, self._standing(job, run), earmark.rule)
                self._builder.preempts.append(Preempt(run, job.id, reason, again=True))
                if preemption is not None:
                    preemption.count_out(run)
                else:
                    self._quotas.shift(run.job, -1, run.allocation)
        self._builder.earmark_for(job, earmark._replace(victims=tuple(run.id for run in still)))

    def _reason_given(self, run: Run) -> Reason | None:
        """The reason with which the run was preempted; None if the ledger does not have it. What its owner uses, the
        quotas and the classes may be others by now."""
        cut = self._context.ledger.cuts.get(run.id)
        return None if cut is None else recall(cut.code, cut.numbers)

    def _standing(self, job: Job, run: Run) -> Standing | None:
        """The quota entry by which the run is a victim; None if it is one because its class is lower."""
        if (
            self._classes is not None
            and self._classes.comparable(job.queue, run.job.queue)
            and self._classes.of_run(run) < self._classes.of(job)
        ):
            return None
        return self._quotas.surplus(run.job, run.allocation) or self._quotas.standing(run.job)

    def _why(self, job: Job, run: Run, standing: Standing | None, rule: str) -> Reason:
        """The reason of a preemption, by rule (docs/policies.md, P1 to P3)."""
        beneficiary: Numbers = (("beneficiary", job.id),)
        if rule == PROMISE:
            return Reason("cut-for-promise", beneficiary)
        if rule == RESCUE:
            return Reason("cut-for-rescue", (*beneficiary, ("left_s", run.end_s - self._now_s)))
        if standing is not None:
            numbers: Numbers = (("entity", show_entity(standing.entity)), ("used", standing.used))
            of: Numbers = (("limit", standing.limit), ("queue", standing.scope), ("resource", standing.resource))
            unit = unit_of(standing.resource, self._cluster.server.sizes)
            return Reason("preempted-quota", (*beneficiary, *numbers, *of, *unit))
        above = self._classes.of(job) if self._classes is not None else 0
        below = self._classes.of_run(run) if self._classes is not None else 0
        return Reason("preempted-class", (*beneficiary, ("above", above), ("class", below)))
