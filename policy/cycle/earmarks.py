"""Cores kept for a beneficiary from the pass that preempted for it until it runs (docs/policies.md, "What happens
then").

Whatever rule chose the victims, nobody else gets what they let go. A beneficiary starts as soon as its cores are free;
one whose victims never let go is given up after a while and is in its turn again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policy.eligibility.quotas import Standing
from policy.fit.fit import fit
from policy.model.allocation import Placement
from policy.model.cluster import UNLIMITED_S, Job, Run
from policy.model.ledger import CLASS, PROMISE, QUOTA, RESCUE, Backfilled, Hold
from policy.model.limits import show_entity
from policy.plan.context import Scene
from policy.plan.plan import Preempt
from policy.plan.plan_builder import Draft
from policy.preemption.victim_selection import Victim
from policy.reasons.reason import Reason
from policy.state.windows import NOTHING_CLOSED


class Holds:
    """The beneficiaries of earlier passes and of this one."""

    def __init__(self, scene: Scene, draft: Draft) -> None:
        self._scene = scene
        self._world = scene.world
        self._draft = draft
        self._quotas = scene.quotas
        self._classes = scene.classes if scene.settings.priority.preempt else None
        self._now_s = scene.now_s

    def honour(self, tested: Callable[[Job], Backfilled]) -> None:
        """Start the beneficiaries of earlier passes whose resources are free, and keep the resources of the others.

        ``tested`` says what is noted of a rescued job's run, which counts as backfilled.
        """
        world, now_s, ledger = self._world, self._now_s, self._scene.ledger
        preemption, give_up_s = self._scene.preemption, self._scene.settings.quota.give_up_s
        for job_id, hold in sorted(ledger.holds.items(), key=lambda item: (item[1].since_s, item[0])):
            job = world.jobs.get(job_id)
            if job is None:
                continue
            shut = self._scene.gates.shut(job)
            # A limit that runs of its owner fill until the promised time does not end what was begun for a promise.
            if shut is not None and (hold.rule != PROMISE or self._draft.opens_s(job, shut) == UNLIMITED_S):
                continue
            if preemption is None and hold.rule in (QUOTA, CLASS):
                continue
            allowed = world.vnodes_of(job.queue)
            still = [world.runs[victim] for victim in hold.victims if victim in world.runs]
            if not still or now_s - hold.since_s < give_up_s:
                # Beside a head the victims' cores are needed even where idle ones would do for the job itself.
                early = not still or not ledger.promises
                placement = self._where_now(job, hold, allowed, gone=not still) if early else None
                if placement is not None and shut is None:
                    self._draft.start(job, placement, tested(job) if hold.rule == RESCUE else None)
                elif still:
                    self._keep(job, hold, still)

    def begin(self, job: Job, placement: Placement, victims: Sequence[Victim], rule: str) -> None:
        """Preempt these runs for the job and keep what it needs, also of what victims of others leave over."""
        victims_of_others = self._draft.victims_under(placement, [victim.run for victim in victims])
        for victim in victims:
            reason = self._why(job, victim.run, victim.standing, rule)
            self._draft.preempts.append(Preempt(victim.run, job.id, reason))
            if rule in (PROMISE, RESCUE) and self._scene.preemption is not None:
                self._scene.preemption.count_out(victim.run)
        waits_for = (*(victim.run.id for victim in victims), *victims_of_others)
        self._draft.hold_for(job, Hold(placement, waits_for, self._now_s, rule))

    def also(self, job: Job, placement: Placement, victim: Run, rule: str) -> None:
        """Keep for a further job what it needs of the cores that a victim of another lets go."""
        self._draft.hold_for(job, Hold(placement, (victim.id,), self._now_s, rule))

    def _where_now(self, job: Job, hold: Hold, allowed: int, gone: bool) -> Placement | None:
        capacity, windows = self._world.capacity, self._scene.windows
        shut = NOTHING_CLOSED if windows is None else windows.closed_to(job, self._now_s)
        ever, allowed = allowed, allowed & ~shut.vnodes
        with shut.applied_to(capacity):
            closed = False
            for share in hold.placement.shares(capacity.directory):
                closed = closed or bool(share.mask & ~(allowed & capacity.open_to(job.request)))
            if not closed and len(hold.placement.vnodes) and not capacity.part_within(hold.placement)[1]:
                return hold.placement
            return fit(capacity, job.request, allowed, ever) if gone else None

    def _keep(self, job: Job, hold: Hold, still: Sequence[Run]) -> None:
        preemption = self._scene.preemption
        asked = {preempt.id for preempt in self._draft.preempts}
        for run in still:
            if run.id not in asked:
                reason = self._why(job, run, self._standing(job, run), hold.rule)
                self._draft.preempts.append(Preempt(run, job.id, reason, again=True))
                if preemption is not None:
                    preemption.count_out(run)
                else:
                    self._quotas.shift(run.job, -1, run.placement)
        self._draft.hold_for(job, hold._replace(victims=tuple(run.id for run in still)))

    def _standing(self, job: Job, run: Run) -> Standing | None:
        """How the entry stands by which the run goes; None where it goes for its lower class."""
        if (
            self._classes is not None
            and self._classes.comparable(job.queue, run.job.queue)
            and self._classes.of_run(run) < self._classes.of(job)
        ):
            return None
        return self._quotas.surplus(run.job, run.placement) or self._quotas.standing(run.job)

    def _why(self, job: Job, run: Run, standing: Standing | None, rule: str) -> Reason:
        """The reason of a preemption by each of the rules (docs/policies.md, P1 to P3)."""
        beneficiary = ("beneficiary", job.id)
        if rule == PROMISE:
            return Reason("cut-for-promise", (beneficiary,))
        if rule == RESCUE:
            return Reason("cut-for-rescue", (beneficiary, ("left_s", run.end_s - self._now_s)))
        if standing is not None:
            numbers = (("entity", show_entity(standing.entity)), ("used", standing.used), ("limit", standing.limit))
            of = (("queue", standing.scope), ("resource", standing.resource))
            return Reason("preempted-quota", (beneficiary, *numbers, *of))
        above = self._classes.of(job) if self._classes is not None else 0
        below = self._classes.of_run(run) if self._classes is not None else 0
        return Reason("preempted-class", (beneficiary, ("above", above), ("class", below)))
