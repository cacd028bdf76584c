"""One pass: what to start, whom to preempt, whom to reserve for, and why everyone else waits.

Jobs are taken in queue order, by class where users have priorities (P2). Each starts if it fits, placed by P4 and P5;
the first of a region that does not may preempt (P1, P2), else it is reserved and heads its region; those behind it
start only where they leave its reserved time alone (P3), or preempt in their turn. A job once promised a time stays the
head until it starts. See docs/policies.md, "Together, in one pass".
"""

from __future__ import annotations

from collections.abc import Sequence

from policy.backfill.regions import Region
from policy.backfill.runtime_estimates import remember
from policy.cycle.attempt import Turns
from policy.cycle.attempt_loop import Attempts, TimedAttempts
from policy.cycle.backfill_attempt import wait_behind
from policy.cycle.incremental import settle, still_settled
from policy.cycle.rescue import rescue
from policy.eligibility.own_priorities import queue_order
from policy.model.cluster import Job
from policy.model.ledger import Ledger
from policy.plan.context import Scene
from policy.plan.deadline import NEVER, Deadline
from policy.plan.plan import Plan
from policy.plan.plan_builder import Draft
from policy.ranking.score_formulas import FORMULAS, Formulas
from policy.reasons.reason import Reason
from policy.settings.site_settings import Settings
from policy.state.cluster_index import Entry
from policy.state.snapshot import Snapshot
from policy.striping.learning import learn


def decide(
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    formulas: Formulas = FORMULAS,
    deadline: Deadline = NEVER,
) -> Plan:
    """Decide one pass. Pure: the same values give the same plan, and nothing is changed by it.

    Every waiting job is either started (an array: some of its subjobs) or has exactly one reason. ``formulas`` rank the
    vnodes (P4), and may be a site's own. Once the ``deadline`` is over no further job is looked at, and the plan is
    what was decided until then; with one that never comes the plan is the same as without.
    """
    if snapshot.finished:
        ledger = _with_what_was_seen(ledger, snapshot, settings)
    if ledger.asked:
        ledger = _with_what_still_stands(ledger, snapshot)
    settled = still_settled(snapshot, ledger, settings)
    if settled is not None:
        return settled
    scene = Scene(snapshot, ledger, settings, formulas)
    try:
        return _Pass(scene, deadline).decide()
    finally:
        scene.capacity.check_time = None


def _with_what_was_seen(ledger: Ledger, snapshot: Snapshot, settings: Settings) -> Ledger:
    """The ledger with what the runs teach that have ended since the last pass (P3's predictor, P5)."""
    finished = [run for run in snapshot.finished if run.end_s > ledger.seen_s]
    if not finished:
        return ledger
    learned = learn(ledger.learned, finished, settings.stripe, ledger.seen_s)
    return ledger._replace(history=remember(ledger.history, finished), learned=learned, seen_s=snapshot.time_s)


def _with_what_still_stands(ledger: Ledger, snapshot: Snapshot) -> Ledger:
    """The ledger without the promises and holds of jobs that were altered since to ask for something else."""
    jobs = snapshot.world().jobs
    altered = [
        job_id for job_id, asked in ledger.asked.items() if job_id in jobs and not asked.is_unaltered(jobs[job_id])
    ]
    if not altered:
        return ledger
    lapsed = {job_id for job_id in altered if not ledger.asked[job_id].covers(jobs[job_id])}
    changed = {
        job_id for job_id in altered if job_id in ledger.holds and not ledger.asked[job_id].is_same(jobs[job_id])
    }
    if not lapsed and not changed:
        return ledger
    return ledger._replace(
        promises={job_id: at_s for job_id, at_s in ledger.promises.items() if job_id not in lapsed},
        holds={job_id: hold for job_id, hold in ledger.holds.items() if job_id not in changed},
        asked={job_id: asked for job_id, asked in ledger.asked.items() if job_id not in lapsed},
    )


class _Pass:
    """One pass over the queue: the order in which jobs have their turn, and when the next pass is due."""

    def __init__(self, scene: Scene, deadline: Deadline) -> None:
        self._scene = scene
        self._ledger = scene.ledger
        self._settings = scene.settings
        self._now_s = scene.now_s
        self._world = scene.world
        self._shrinks = scene.shrinks
        self._preemption = scene.preemption
        self._draft = Draft(scene)
        self._turns = Turns(scene, self._draft)
        self._attempts: Attempts | TimedAttempts = (
            Attempts(self._turns) if deadline is NEVER else TimedAttempts(scene, self._draft, self._turns, deadline)
        )

    def decide(self) -> Plan:
        settings, draft = self._settings, self._draft
        if self._ledger.holds:
            self._turns.honour_holds()
        entries = self._in_order()
        regions = self._world.partitions()
        region: Region | None = None
        backfills = settings.backfill.kind != "none"
        plain = self._preemption is None and self._scene.windows is None and len(regions) == 1
        if backfills and plain and self._world.nothing_shut():
            region = draft.regions[regions[0][1][0]]
            self._walk_plainly(entries, region)
        else:
            self._walk(entries)
        draft.first_behind, draft.tried_in_vain = self._attempts.first_behind, self._attempts.tried_in_vain
        if self._preemption is not None:
            self._turns.heads.settle()
        if settings.rescue.enabled:
            self._attempts.guard(lambda: rescue(self._scene, draft, self._turns.holds))
        if self._shrinks:
            self._wake_for_promises()
        self._wake_for_reasons()
        if self._scene.windows is not None and draft.waits:
            draft.next_s = min([draft.next_s, *self._scene.windows.changes_s[:1]])
        plan = draft.plan()
        if region is not None:
            settle(self._scene, draft, region, plan)
        return plan

    def _wake_for_reasons(self) -> None:
        """The next pass is due when the first time comes that a reason names, where time alone makes the difference."""
        quota = self._settings.quota
        codes: list[str] = []
        if self._preemption is not None and (quota.exempt_s or quota.delay_s or quota.delay_per_core_s):
            codes += ["preempt-delay", "exempt-victims"]
        if self._settings.stripe.stagger_s:
            codes.append("staggered")
        if not self._world.nothing_shut():
            codes.append("not-before")
        if codes:
            self._draft.wake_for(codes)

    def _wake_for_promises(self) -> None:
        """The next pass is due when the next promise is, if somebody may have to be cut for it; and when so little is
        left until then that jobs which do not save are cheap to repeat."""
        draft = self._draft
        grace_s, cheap_s = self._settings.checkpoint.grace_s, self._settings.checkpoint.repeat_at_most_s
        for region in draft.each_region():
            if region.reservation is not None:
                head, at_s = region.reservation.head.id, region.reservation.at_s
                promised_s = self._ledger.promises.get(head, at_s)
                due_s = promised_s - grace_s if promised_s - grace_s > self._now_s else promised_s
                cheap_from_s = max(region.reservation.until_s, region.promised_s) - cheap_s if cheap_s else due_s
                draft.next_s = min([draft.next_s, *(each for each in (due_s, cheap_from_s) if each > self._now_s)])

    # The order

    def _in_order(self) -> Sequence[Entry]:
        """The waiting jobs in queue order, by class where there are any; those with a promise before all to which they
        do not give way for their class; without those whose cores are kept already."""
        entries: Sequence[Entry] = queue_order(self._world, self._now_s)
        if self._scene.classes is not None:
            entries = self._scene.classes.order(entries)
        holds, promises = self._draft.holds, self._ledger.promises
        if holds:
            entries = [entry for entry in entries if entry[3] not in holds]
        if promises and entries and not (len(promises) == 1 and entries[0][3] in promises):
            first = [entry for entry in entries if entry[3] in promises]
            if entries[: len(first)] != first:
                rest = [entry for entry in entries if entry[3] not in promises]
                entries = self._behind_higher_classes(first, rest)
        return entries if entries is not self._world.order else entries[:]

    def _behind_higher_classes(self, promised: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
        """The jobs with a promise before all others, but for those of higher classes, to which they give way."""
        claims = self._scene.claims
        if self._scene.classes is None or not self._settings.priority.preempt:
            return [*promised, *entries]
        ordered: list[Entry] = []
        for head in promised:
            first = next(
                (i for i, entry in enumerate(entries) if not claims.outranks_by_class(entry[5], head[5])), len(entries)
            )
            ordered += [*entries[:first], head]
            entries = entries[first:]
        return [*ordered, *entries]

    def _walk_plainly(self, entries: Sequence[Entry], region: Region) -> None:
        """The walk where idle cores alone decide who is looked at: one region, no gates, nobody preempts."""
        index, count = 0, len(entries)
        while index < count and region.reservation is None:
            self._attempts.in_turn(entries[index][5], region)
            index += 1
        idle = region.idle
        rest = entries[index:] if index else entries
        small = [entry[5] for entry in rest if entry[4] <= idle]
        if len(small) < len(rest):
            total = region.total
            large = [entry[5] for entry in rest if total >= entry[4] > idle]
            if self._world.has_shapes:
                large = self._without_unarranged(large, region)
            self._draft.waiting_for(Reason("too-few-idle", (("idle", idle),))).extend(large)
            if len(large) + len(small) < len(rest):
                for job in [entry[5] for entry in rest if entry[4] > total]:
                    self._attempts.behind(job, region)
        if small:
            if self._settings.backfill.order == "shortest-first" and len(small) > 1:
                small = self._shortest_first(small)
            ordered = self._attempts.in_order(small)
            wait_behind(self._scene, self._draft, ordered, region, self._attempts.behind)
        self._take_what_was_set_aside()

    def _without_unarranged(self, large: Sequence[Job], region: Region) -> list[Job]:
        """Those that need more than is idle, without those of which idle cores do not tell all: the latter have their
        turn, until one of their shape is known to fit an idle cluster."""
        is_holdable = self._turns.refusals.is_holdable
        counted: list[Job] = []
        for job in large:
            if job.request.only_cores or is_holdable(job):
                counted.append(job)
            else:
                self._attempts.behind(job, region)
        return counted

    def _walk(self, entries: Sequence[Entry]) -> None:
        """The walk where each job is asked for its gates and for its right to preempt."""
        behind: list[Job] = []
        shortest_first = self._settings.backfill.order == "shortest-first"
        collects = shortest_first or self._attempts.begins_elsewhere
        backfills = self._settings.backfill.kind != "none"
        regions, plain, refusals = self._draft.regions, self._world.plain_queues(), self._turns.refusals
        confined = self._scene.confined
        starts, most_starts, promises = self._draft.starts, self._settings.schedule.max_starts, self._ledger.promises
        for entry in entries:
            job = entry[5]
            if (
                job.blocked
                or job.not_before_s is not None
                or job.queue not in plain
                or (confined is not None and (not job.rerunable or job.id in confined.capped))
            ):
                reason = self._scene.gates.shut(job)
                if reason is not None:
                    self._turns.at_a_gate(job, reason)
                    continue
            region = regions[job.queue]
            if region.reservation is None:
                if len(starts) < most_starts or job.id in promises:
                    self._attempts.in_turn(job, region)
                else:
                    self._draft.leave(job, refusals.beyond_limit())
            elif backfills and entry[4] > region.idle and refusals.leave(job, region, refusals.too_few(region)):
                continue
            elif collects:
                behind.append(job)
            else:
                self._attempts.behind(job, region)
        if behind:
            ordered = self._shortest_first(behind) if shortest_first else behind
            for job in self._attempts.in_order(ordered):
                self._attempts.behind(job, regions[job.queue])
        self._take_what_was_set_aside()

    def _shortest_first(self, jobs: Sequence[Job]) -> list[Job]:
        """Jobs behind a head in the order in which they are tried: by class, then by estimate, then in queue order."""
        classes = self._scene.classes
        return sorted(jobs, key=lambda job: (-classes.of(job) if classes is not None else 0, job.left_s))

    def _take_what_was_set_aside(self) -> None:
        """The jobs that were passed over; then arrays of which the quota covered only a part: the rest in the turn of
        the base class."""
        self._attempts.finish()
        for job in self._turns.set_aside:
            region = self._draft.regions[job.queue]
            if region.reservation is None:
                self._attempts.in_turn(job, region)
            else:
                self._attempts.behind(job, region)
