"""One pass: which jobs start, which runs are preempted, which jobs get a reservation, and why all others wait
(docs/policies.md, "Together, in one pass").

Jobs are attempted in queue order, by class where users have priorities; the first job of a region that does not fit
preempts or becomes the head, and no start behind it moves its reserved time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policy.backfill.queues_sharing_vnodes import Region
from policy.backfill.shrunk_estimate_and_may_be_cut import remember
from policy.cycle.attempts_within_time_limit import AttemptLoop, TimedAttemptLoop
from policy.cycle.backfill_attempt import wait_behind
from policy.cycle.incremental_pass import keep_memo, reuse_memo
from policy.cycle.job_attempt import JobAttempts
from policy.cycle.preempt_long_run_for_short_job import rescue
from policy.eligibility.job_order_by_fair_share import FairShareLine
from policy.eligibility.order_as_pbs_scheduler_would import Line
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Ledger
from policy.model.priority_class import BASE
from policy.plan.pass_context import Context
from policy.plan.pass_time_limit import NEVER, Deadline
from policy.plan.plan_builder import PlanBuilder
from policy.plan.plan_types import Plan
from policy.plan.plan_without_waiting_jobs import plan_without_waiting_jobs
from policy.reasons.reason import Reason
from policy.reasons.reason_names import ReasonCode
from policy.settings.site_settings import Settings
from policy.state.cluster_index import Entry
from policy.state.cluster_snapshot import Snapshot
from policy.striping.layout_learning import learn


def decide(
    snapshot: Snapshot,
    ledger: Ledger,
    settings: Settings,
    deadline: Deadline = NEVER,
) -> Plan:
    """Decide one pass. Pure: the same values give the same plan, and nothing is changed.

    Every waiting job is either started (an array: some of its subjobs) or has exactly one reason. Once the ``deadline``
    is over no further job is attempted, and the plan is what was decided until then; a deadline that never comes does
    not change the plan.
    """
    if ledger.seen_s > snapshot.time_s or ledger.earmarks or ledger.cuts or ledger.stripes:
        ledger = _with_no_time_after(snapshot.time_s, ledger)
    if snapshot.finished:
        ledger = _with_what_was_seen(ledger, snapshot, settings)
    cluster = snapshot.cluster()
    if ledger.asked:
        ledger = _with_what_still_stands(ledger, cluster.jobs)
    if cluster.memo is not None:
        plan = reuse_memo(snapshot, ledger, settings)
        if plan is not None:
            return plan
    if not cluster.jobs and not ledger.earmarks:
        return plan_without_waiting_jobs(snapshot, ledger, settings)
    context = Context(snapshot, ledger, settings)
    try:
        return _Pass(context, deadline).decide()
    finally:
        context.capacity.check_time = None


def _with_no_time_after(now_s: float, ledger: Ledger) -> Ledger:
    """The ledger with the times of past events moved to now where they are later: the clock was set back. Otherwise a
    preempted job that runs again would count as the victim that lingers, and be preempted again in each pass."""
    earmarks = {
        job_id: each._replace(since_s=now_s) for job_id, each in ledger.earmarks.items() if each.since_s > now_s
    }
    cuts = {run: cut._replace(at_s=now_s) for run, cut in ledger.cuts.items() if cut.at_s > now_s}
    stripes = dict.fromkeys((vnode for vnode, at_s in ledger.stripes.items() if at_s > now_s), now_s)
    if not earmarks and not cuts and not stripes and ledger.seen_s <= now_s:
        return ledger
    return ledger._replace(
        earmarks={**ledger.earmarks, **earmarks},
        cuts={**ledger.cuts, **cuts},
        stripes={**ledger.stripes, **stripes},
        seen_s=min(ledger.seen_s, now_s),
    )


def _with_what_was_seen(ledger: Ledger, snapshot: Snapshot, settings: Settings) -> Ledger:
    """The ledger with what the runs that ended since the last pass teach (P3's predictor, P5)."""
    finished = [run for run in snapshot.finished if run.end_s > ledger.seen_s]
    if not finished:
        return ledger
    learned = learn(ledger.learned, finished, settings.stripe, ledger.seen_s)
    return ledger._replace(history=remember(ledger.history, finished), learned=learned, seen_s=snapshot.time_s)


def _with_what_still_stands(ledger: Ledger, jobs: Mapping[str, Job]) -> Ledger:
    """The ledger without the promises and earmarks of waiting jobs that were altered since to request something
    else, and without the promises of those that may no longer be heads."""
    altered: list[str] = []
    for job_id, asked in ledger.asked.items():
        job = jobs.get(job_id)
        if job is not None and (job.topjob_ineligible or not asked.is_unaltered(job)):
            altered.append(job_id)
    if not altered:
        return ledger
    lapsed = {
        job_id for job_id in altered if jobs[job_id].topjob_ineligible or not ledger.asked[job_id].covers(jobs[job_id])
    }
    changed = {
        job_id for job_id in altered if job_id in ledger.earmarks and not ledger.asked[job_id].is_same(jobs[job_id])
    }
    if not lapsed and not changed:
        return ledger
    return ledger._replace(
        promises={job_id: at_s for job_id, at_s in ledger.promises.items() if job_id not in lapsed},
        earmarks={job_id: earmark for job_id, earmark in ledger.earmarks.items() if job_id not in changed},
        asked={job_id: asked for job_id, asked in ledger.asked.items() if job_id not in lapsed},
    )


class _Pass:
    """One pass over the queue: the order of attempts, and when the next pass is due."""

    def __init__(self, context: Context, deadline: Deadline) -> None:
        self._context = context
        self._builder = PlanBuilder(context)
        self._job_attempts = JobAttempts(context, self._builder)
        self._loop: AttemptLoop | TimedAttemptLoop = (
            AttemptLoop(self._job_attempts)
            if deadline is NEVER
            else TimedAttemptLoop(context, self._builder, self._job_attempts, deadline)
        )

    def decide(self) -> Plan:
        context, builder = self._context, self._builder
        cluster, settings = context.cluster, context.settings
        if context.ledger.earmarks:
            self._job_attempts.honour_earmarks()
        entries = self._in_order()
        region: Region | None = None
        no_gate_applies = cluster.no_gate_applies()
        plain = no_gate_applies and context.preemption is None and context.windows is None
        if plain and settings.backfill.kind != "none" and len(cluster.partitions()) == 1:
            region = builder.each_region[0]
        if region is not None and not isinstance(entries, FairShareLine):
            self._walk_plainly(entries, region)
        else:
            self._walk(entries, None if cluster.has_shapes else region)
        builder.first_behind, builder.tried_in_vain = self._loop.first_behind, self._loop.tried_in_vain
        if context.preemption is not None:
            self._job_attempts.heads.reserve_again_and_withdraw_promises()
        if settings.rescue.enabled:
            self._loop.guard(self._rescue)
        if context.shrinks:
            self._wake_for_promises()
        self._wake_for_reasons(no_gate_applies=no_gate_applies)
        if context.windows is not None and builder.waits:
            builder.next_s = min([builder.next_s, *context.windows.changes_s[:1]])
        plan = builder.plan()
        if region is not None:
            keep_memo(context, builder, region, plan)
        return plan

    def _rescue(self) -> None:
        rescue(self._context, self._builder, lambda: self._job_attempts.earmarks)

    def _wake_for_reasons(self, *, no_gate_applies: bool) -> None:
        """Set the next pass to the first time that a reason names, where time alone can make the difference.
        ``no_gate_applies`` is the cluster's answer before the first start of the pass."""
        context = self._context
        codes: list[ReasonCode] = []
        if context.preemption is not None:
            quota = context.settings.quota
            if quota.exempt_s or quota.delay_s or quota.delay_per_core_s:
                codes += ["preempt-delay", "exempt-victims"]
        if context.settings.stripe.stagger_s:
            codes.append("staggered")
        if not no_gate_applies:
            codes.append("not-before")
        if codes:
            self._builder.wake_for(codes)

    def _wake_for_promises(self) -> None:
        """Set the next pass to the next promised time less the grace, as runs may have to be cut for it, or to the time
        from which jobs that do not save are cheap to repeat."""
        context, builder = self._context, self._builder
        grace_s, cheap_s = context.settings.checkpoint.grace_s, context.settings.checkpoint.repeat_at_most_s
        for region in builder.each_region:
            if region.reservation is not None:
                head, at_s = region.reservation.head.id, region.reservation.at_s
                promised_s = builder.promises.get(head, at_s)
                builder.wake_at(promised_s - grace_s if promised_s - grace_s > context.now_s else promised_s)
                if cheap_s:
                    builder.wake_at(max(region.reservation.until_s, region.promised_s) - cheap_s)

    # The order of attempts

    def _in_order(self) -> Sequence[Entry] | FairShareLine:
        """The waiting jobs in queue order, by class where there are any. Jobs with a promise come before all but those
        of a higher class. Jobs with an earmark are left out, and so are those that the site's own order refuses, which
        get their reasons."""
        context = self._context
        cluster = context.cluster
        entries: Sequence[Entry] = cluster.order
        line: Line | None = None
        if cluster.has_site_order or cluster.has_own_priorities:
            if self._builder.starts:
                # The gates of the beneficiaries that have started asked for the line before they started.
                context.renew_line()
            line = context.line
            entries = line.entries
        if context.classes is not None:
            entries = context.classes.order(entries)
        # An array whose next subjob has just started was promised no more than that.
        earmarks, promises = self._builder.earmarks, self._builder.promises
        if earmarks:
            entries = [entry for entry in entries if entry[3] not in earmarks]
        if line is not None and line.refused:
            for entry in entries:
                if entry[3] in line.refused:
                    self._builder.leave(entry[5], context.gates.blocking_reason(entry[5]) or line.refused[entry[3]])
            entries = [entry for entry in entries if entry[3] not in line.refused]
        if promises and entries and not (len(promises) == 1 and entries[0][3] in promises):
            first = [entry for entry in entries if entry[3] in promises]
            if entries[: len(first)] != first:
                rest = [entry for entry in entries if entry[3] not in promises]
                entries = self._behind_higher_classes(first, rest)
        if line is not None and line.places is not None:
            of_jobs = {} if context.classes is None else context.classes.of_jobs
            return FairShareLine(cluster, entries, line, line.places, of_jobs, promises)
        return entries if entries is not cluster.order else entries[:]

    def _behind_higher_classes(self, promised: Sequence[Entry], entries: Sequence[Entry]) -> list[Entry]:
        """The jobs with a promise before all others but those of higher classes, to which they give way."""
        context = self._context
        claims = context.claims
        if context.classes is None or not context.settings.priority.preempt:
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
        """The walk if idle cores alone decide which jobs are attempted: one region, no gates, no preemption."""
        index, count = 0, len(entries)
        while index < count and region.reservation is None:
            self._loop.attempt(entries[index][5], region)
            index += 1
        idle = region.idle
        rest = entries[index:] if index else entries
        small = [entry[5] for entry in rest if entry[4] <= idle]
        if len(small) < len(rest):
            total = region.total
            large = [entry[5] for entry in rest if total >= entry[4] > idle]
            if self._context.cluster.has_shapes:
                large = self._without_unarranged(large, region)
            self._builder.waiting_for(Reason("too-few-idle", (("idle", idle),))).extend(large)
            if len(large) + len(small) < len(rest):
                for job in [entry[5] for entry in rest if entry[4] > total]:
                    self._loop.attempt_behind_head(job, region)
        if small:
            if self._context.settings.backfill.order == "shortest-first" and len(small) > 1:
                small = self._shortest_first(small)
            ordered = self._loop.in_order(small)
            wait_behind(self._context, self._builder, ordered, region, self._loop.attempt_behind_head)
        self._take_what_was_set_aside()

    def _without_unarranged(self, large: Sequence[Job], region: Region) -> list[Job]:
        """The jobs that need more cores than are idle and for which that is the whole reason to wait. The others are
        attempted until one of their shape is known to fit an idle cluster."""
        is_holdable = self._job_attempts.rejections.is_holdable
        counted: list[Job] = []
        for job in large:
            if job.request.only_cores or is_holdable(job):
                counted.append(job)
            else:
                self._loop.attempt_behind_head(job, region)
        return counted

    def _charging(self, line: FairShareLine) -> Iterator[Entry]:
        """The entries of the line; what starts or becomes a head in between counts for fair share at once."""
        starts, regions = self._builder.starts, self._builder.regions
        charged, heads = 0, 0
        each_region = self._builder.each_region
        for entry in line:
            yield entry
            if len(starts) != charged:
                for start in starts[charged:]:
                    line.charge(start.job)
                charged = len(starts)
            if heads < len(each_region):
                reservation = regions[entry[5].queue].reservation
                if reservation is not None and reservation.head.id == entry[3]:
                    line.charge(entry[5])
                    heads += 1

    def _walk(self, entries: Sequence[Entry] | FairShareLine, counted: Region | None) -> None:
        """The walk that checks each job's gates and its right to preempt. ``counted``: the only region, if its idle
        cores alone decide which jobs are attempted behind its head."""
        context = self._context
        attempt_behind_head: list[Job] = []
        shortest_first = context.settings.backfill.order == "shortest-first"
        collects = shortest_first or self._loop.begins_elsewhere
        backfills = context.settings.backfill.kind != "none"
        plain, confined = context.cluster.queues_without_gates(), context.confined
        regions, rejections = self._builder.regions, self._job_attempts.rejections
        lacking: list[Job] = []
        lacking_at = -1
        for entry in self._charging(entries) if isinstance(entries, FairShareLine) else entries:
            job = entry[5]
            if counted is not None and counted.idle < entry[4] <= counted.total and counted.reservation is not None:
                if lacking_at != counted.idle:
                    lacking_at, lacking = counted.idle, self._builder.waiting_for(rejections.too_few(counted))
                lacking.append(job)
                continue
            if (
                job.blocked
                or job.not_before_s is not None
                or job.queue not in plain
                or (confined is not None and (not job.rerunable or job.id in confined.capped))
            ):
                reason = context.blocking_reason(job)
                if reason is not None:
                    self._job_attempts.at_a_gate(job, reason)
                    continue
            region = regions[job.queue]
            if region.reservation is None:
                if self._builder.is_beyond_limit(job):
                    self._builder.leave(job, rejections.beyond_limit())
                else:
                    self._loop.attempt(job, region)
            elif backfills and entry[4] > region.idle and rejections.leave(job, region, rejections.too_few(region)):
                continue
            elif collects:
                attempt_behind_head.append(job)
            else:
                self._loop.attempt_behind_head(job, region)
        if attempt_behind_head:
            ordered = self._shortest_first(attempt_behind_head) if shortest_first else attempt_behind_head
            for job in self._loop.in_order(ordered):
                self._loop.attempt_behind_head(job, regions[job.queue])
        self._take_what_was_set_aside()

    def _shortest_first(self, jobs: Sequence[Job]) -> list[Job]:
        """Jobs behind a head in the order in which they are tried: by class, then by estimate, then in queue order."""
        classes = self._context.classes
        if classes is None:
            return _by_estimate(jobs)
        by_class: dict[int, list[Job]] = {}
        of_jobs = classes.of_jobs
        for job in jobs:
            by_class.setdefault(of_jobs.get(job.id, BASE), []).append(job)
        return [job for rank in sorted(by_class, reverse=True) for job in _by_estimate(by_class[rank])]

    def _take_what_was_set_aside(self) -> None:
        """Attempt the postponed jobs; then the rest of the arrays that were set aside."""
        self._loop.finish()
        for job in self._job_attempts.set_aside:
            self._loop.attempt_later(job, self._builder.regions[job.queue])


def _by_estimate(jobs: Sequence[Job]) -> list[Job]:
    """Jobs with the least time left first; of equal ones the first one first."""
    left_s = [job.left_s for job in jobs]
    return [jobs[index] for index in sorted(range(len(jobs)), key=left_s.__getitem__)]
