"""Lines about one job beside its reason: quota and class, how it is tested, whether it may be cut, why it is there.

Each line follows from the snapshot, the settings and the ledger that the plan leaves; a decision that depended on more
has no line (docs/policies.md, "Reasons").
"""

from __future__ import annotations

from typing import NamedTuple

from policy.backfill.shrunk_estimate_and_may_be_cut import Estimates
from policy.cycle.preempt_long_run_for_short_job import waits_until_s
from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.order_as_pbs_scheduler_would import queue_line
from policy.eligibility.soft_quotas import Quotas
from policy.explain.longest_backfill_walltime import Longest
from policy.explain.preemptible_by_quota import PreemptibleByQuota
from policy.explain.queue_position import InLine
from policy.explain.would_start_be_revoked import KeptStarts
from policy.model.allocation import Allocation
from policy.model.job_preferences import RankPreference
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job, Run
from policy.model.ledger_between_passes import Ledger
from policy.model.limit_attributes import show_entity
from policy.model.pbs_units import show_count, show_duration, show_job
from policy.model.priority_class import BASE, show_class
from policy.plan.plan_types import Plan, Start
from policy.ranking.vnode_ranking_and_requirements import Ranking, Standing
from policy.reasons.numbers_in_reasons import on_whole_cluster, show_quota
from policy.reasons.reason import Reason, recall
from policy.reasons.reason_names import MoreNumbers
from policy.settings.site_settings import Settings
from policy.state.cluster_index import ClusterIndex

_VNODES = 3


class LabelledLine(NamedTuple):
    """A label and its text."""

    label: str
    text: str


class ExplanationLines:
    """Makes the lines about the jobs and runs of one pass."""

    def __init__(self, cluster: ClusterIndex, plan: Plan, settings: Settings) -> None:
        self._cluster = cluster
        self._plan = plan
        self._settings = settings
        self._now_s = plan.time_s
        self._in_line = InLine(plan, settings)
        self._longest = Longest(cluster, plan, settings)
        self._kept_starts = KeptStarts(plan, settings)
        self._sizes = cluster.server.sizes
        self._quotas = Quotas(cluster, settings.quota.counted)
        self._preemptible = PreemptibleByQuota(cluster, self._quotas, plan.ledger, settings.quota, plan.time_s)
        self._estimates = Estimates(settings, plan.ledger, plan.time_s)
        self._classes = Classes(cluster, _before(plan), self._quotas, plan.time_s) if cluster.has_classes else None
        if self._classes is not None:
            self._classes.order(queue_line(cluster, plan.time_s).entries)

    # The job

    def about(self, job: Job) -> list[LabelledLine]:
        """The job's owner, queue and size, and the quotas that count it."""
        quotas = self._quotas
        standing = [
            f"{show_entity(entity)} uses {quotas.used(scope, entity, resource)} of"
            f" {show_quota(limit, resource, scope, job.queue, self._sizes)}"
            for scope, resource, entity, limit in quotas.bounds(job)
        ]
        size = f"{show_count(job.cores, 'core')}, {_walltime(job)}"
        return [
            LabelledLine("job", f"{job.user} · {job.queue} · {size}"),
            LabelledLine("quota", "; ".join(standing) or "no quota counts it"),
        ]

    def class_of(self, job: Job, run_id: str | None = None) -> list[LabelledLine]:
        """The job's class, and what is left of the priority quota; for a run the class it started in (P2)."""
        classes = self._classes
        if classes is None:
            return []
        subject = classes.subject(job)
        if run_id is not None:
            frozen = self._plan.ledger.classes.get(run_id, classes.of_runs.get(run_id, BASE))
            return [LabelledLine("class", f"{show_class(frozen)}, since its start")]
        express = classes.of_queue(job.queue)
        if express is not None:
            return [LabelledLine("class", f"{show_class(express)}: {job.queue} is an express queue of its scheduler")]
        if subject is None:
            return [LabelledLine("class", f"base: {job.user} has no priority in queue {job.queue}")]
        of = classes.remaining(job)
        what = "" if of.resource == "ncpus" else f" {of.resource}"
        quota = f"the priority quota of {of.limit}{on_whole_cluster(of.scope)}"
        left = f"{of.amount}{what} left of {quota} after the jobs in line"
        return [LabelledLine("class", f"{show_class(classes.of(job))}: {show_entity(subject.entity)} has {left}")]

    def more_of(self, job: Job, reason: Reason) -> MoreNumbers:
        """Numbers of the job itself, which a shared reason does not have: its place in line; the longest walltime with
        which it would start, if estimates are shrunk, and whether it would keep that start; and what would lift it out
        of the base class, whatever earlier jobs of the same quota take."""
        numbers = {**self._in_line.numbers(job.id), **self._longest.numbers(job, reason)}
        if reason.code == "backfill-window" and self._kept_starts.keeps(job):
            numbers["keeps_start"] = 1
        lifted = None if self._classes is None else self._classes.lifted_by(job)
        if lifted is not None:
            numbers["lifts_at"], numbers["held"] = lifted
        return numbers

    # A waiting job: its test for backfilling, the rescue

    def tested(self, job: Job, reason: Reason) -> list[LabelledLine]:
        """The estimate that a job which outlasts the window was tested with, and why if it was the full one (P3)."""
        at_s, head = float(reason.number("before_s")), show_job(str(reason.number("head")))
        if not self._estimates.shrinks:
            return []
        promised_s = self._longest.promised_s(job)
        tested = self._estimates.tested(job, at_s, promised_s)
        if tested.cuttable:
            part = "all" if tested.estimate_s == job.left_s else show_duration(tested.estimate_s)
            return [
                LabelledLine("tested with", f"{part} of {_left(job.left_s)}: it may be cut when {head} is to start")
            ]
        return [
            LabelledLine("tested with", f"all of {_left(job.longest_s)}: {self._why_in_full(job, at_s, promised_s)}")
        ]

    def _why_in_full(self, job: Job, at_s: float, promised_s: float) -> str:
        """The condition of the decision, in words."""
        settings, window_s = self._settings, at_s - self._now_s
        if job.left_s <= settings.backfill.shrink_threshold_s and job.saved_s <= 0:
            return f"up to {show_duration(settings.backfill.shrink_threshold_s)} are not shrunk"
        why = self._estimates.why_not_cut(job, window_s, max(at_s, promised_s) - self._now_s)
        if why == "grace":
            grace = show_duration(settings.checkpoint.grace_s)
            return f"the head is to start {_in(at_s, self._now_s)}, within the {grace} that saving may take"
        if why == "not-rerunable":
            return "it may not be rerun, so it could not be cut"
        if why == "exempt":
            return "it would still be exempt when the head is to start"
        if why == "cap":
            return f"it was preempted {_times(settings.quota.max_preemptions or 0)} already, and may not be again"
        return "it cannot save its work, and would have too much to repeat"

    def rescue(self, job: Job) -> list[LabelledLine]:
        """Whether the job is short enough for the rescue, and from when on one run may be cut for it (P3)."""
        settings = self._settings.rescue
        short_s = self._estimates.short_s(job)
        if not settings.enabled or short_s > settings.short_s:
            return []
        until_s = waits_until_s(job, short_s, settings, self._plan.ledger.cuts)
        short = f"short ({show_duration(short_s)} expected)"
        if until_s > self._now_s:
            return [
                LabelledLine("rescue", f"{short}: one run may be cut for it in {show_duration(until_s - self._now_s)}")
            ]
        return [
            LabelledLine("rescue", f"{short} and has waited long enough: one run may be cut for it, if one is there")
        ]

    # Earlier preemptions

    def history(self, job: Job) -> list[LabelledLine]:
        """How often it was preempted, which job gets its cores, and what is left of its work."""
        ledger = self._plan.ledger
        count = ledger.preemptions.get(job.id, 0)
        if not count:
            return []
        lines = [LabelledLine("history", f"preempted {_times(count)}")]
        cut = ledger.cuts.get(job.id)
        why = None if cut is None else recall(cut.code, cut.numbers)
        if cut is not None and why is not None:
            ago = show_duration(self._now_s - cut.at_s)
            lines.append(LabelledLine("history", f"{ago} ago {why.sentence(job, self._now_s)}"))
        most = self._settings.quota.max_preemptions
        if most is not None and count >= most:
            lines.append(LabelledLine("history", f"it will not be again: quota.max_preemptions is {most}"))
        for beneficiary, earmark in sorted(ledger.earmarks.items()):
            if job.id in earmark.victims:
                rule = _RULES.get(earmark.rule, earmark.rule)
                lines.append(LabelledLine("history", f"its cores are earmarked for {show_job(beneficiary)}, {rule}"))
        lines.append(LabelledLine("work", self._work(job)))
        return lines

    def _work(self, job: Job) -> str:
        if job.saved_s > 0:
            return f"{show_duration(job.saved_s)} of its run are saved, so {_left(job.left_s)} are to run"
        if job.saved_s < 0:
            return f"saving cost more than was done: {_left(job.left_s)} are to run"
        if self._estimates.may_save(job):
            return f"nothing is known to be saved: all of {_left(job.left_s)} is to run"
        return f"it does not save its work, so it runs again from its beginning: {_left(job.left_s)}"

    # A run

    def of_run(self, run: Run) -> list[LabelledLine]:
        """Whether the run is backfilled and may be cut, and whether it may be preempted."""
        lines: list[LabelledLine] = []
        entry = self._plan.ledger.backfilled.get(run.id)
        if entry is not None:
            if not entry.cuttable:
                text = "started ahead of the job first in line, which loses nothing by it: it is not cut"
            elif entry.end_s > self._now_s:
                text = f"expected to end {_in(entry.end_s, self._now_s)}; may be cut at the time promised to a head"
            else:
                text = "has run longer than the estimate it was tested with; may be cut at the time promised to a head"
            lines.append(LabelledLine("backfilled", text))
        standing = self._preemptible.standing(run)
        if standing is not None:
            entity = show_entity(standing.entity)
            quota = show_quota(standing.limit, standing.resource, standing.scope, run.job.queue, self._sizes)
            over = f"{entity} uses {standing.used} of {quota}, and stays at or above it without this run"
            lines.append(LabelledLine("can be preempted", f"{over}: a job within quota may take its cores"))
        counted_now = any(preempt.id == run.id and not preempt.again for preempt in self._plan.preempts)
        count = self._plan.ledger.preemptions.get(run.id, 0) - counted_now
        if count > 0:
            lines.append(LabelledLine("history", f"preempted {_times(count)} before"))
        return lines

    # The allocation

    def why_starts_there(self, start: Start) -> list[LabelledLine]:
        """Why a start goes to these vnodes: the reason of its layout and what was tried before, then as for a run."""
        tried = () if start.why is None else (start.why, *start.why.tried)
        lines = [LabelledLine("placement", reason.sentence(start.job, self._now_s)) for reason in tried]
        return lines + self._by_rank(start.job, start.allocation) or [LabelledLine("placement", _packed(start.job))]

    def why_runs_there(self, run: Run) -> list[LabelledLine]:
        """Why a run is where it is: its rank, the stripe it started as, or its place alone (P4, P5)."""
        stripes, vnodes = self._plan.ledger.stripes, run.allocation.vnodes
        lines = self._by_rank(run.job, run.allocation)
        if any(stripes.get(vnode) == run.start_s for vnode in vnodes):
            lines.append(LabelledLine("placement", f"a stripe over {len(vnodes)} vnodes started there with it"))
        return lines or [LabelledLine("placement", _as_asked(run.job))]

    def _by_rank(self, job: Job, allocation: Allocation) -> list[LabelledLine]:
        """The first of these vnodes with their positions in the list ranked by the job's preference."""
        ranking = Ranking(self._cluster, self._settings.ranking, self._now_s)
        preference = ranking.preference_of(job)
        if preference is None:
            return []
        ranks = _ranks(ranking, preference, allocation, self._cluster.vnodes_of(job.queue), self._cluster)
        return [
            LabelledLine(
                "placement",
                f"{vnode}: {_score(ranking.standing(preference, vnode), preference)}{_rank(ranks.get(vnode))}",
            )
            for vnode in allocation.vnodes[:_VNODES]
            if vnode in self._cluster.vnodes
        ]


def _as_asked(job: Job) -> str:
    """All that is known of a run that neither a rank nor a stripe placed: it was started as its ``place`` asks."""
    place = f"place={job.request.place}" if job.request.place != "free" else "any vnodes"
    return f"{place}: only what it asks for decided"


def _packed(job: Job) -> str:
    """How :mod:`policy.fit.best_fit` places a request of this kind."""
    if job.request.place == "scatter":
        return "one chunk on each host, as its place asks, the fullest first"
    if job.request.place == "pack":
        return "all on one host, as its place asks"
    return "the fewest vnodes that hold it: the fullest one that holds all of it, else the emptiest"


def _ranks(
    ranking: Ranking, preference: RankPreference, allocation: Allocation, vnodes: int, cluster: ClusterIndex
) -> dict[str, int]:
    """The position of each of the first vnodes of an allocation in the ranked list of those open to the job."""
    bits = cluster.capacity.directory.bits
    wanted = {bits[vnode]: vnode for vnode in allocation.vnodes[:_VNODES] if vnode in bits}
    ranks: dict[str, int] = {}
    for number, bit in enumerate(ranking.ordered(preference, vnodes), start=1):
        if bit in wanted:
            ranks[wanted[bit]] = number
            if len(ranks) == len(wanted):
                break
    return ranks


def _score(standing: Standing, preference: RankPreference) -> str:
    """The vnode's priority by the mode, its compliance, and their product, by the readings of now."""
    by = f"by {preference.mode}"
    if standing.compliance is None or standing.score is None:
        return f"{by}, without a recent reading"
    if standing.dispatch_score is None:
        return f"{by} {standing.score:.3g}, U {standing.compliance:.3g}: below what it requires by now"
    return f"{by} S = {standing.score:.3g} x U {standing.compliance:.3g} = {standing.dispatch_score:.3g}"


def _rank(number: int | None) -> str:
    return "" if number is None else f", number {number} of those that meet its requirements now"


def _before(plan: Plan) -> Ledger:
    """The ledger with the earmarks that the pass began with; it made its own after the classes."""
    earmarks = {job: earmark for job, earmark in plan.ledger.earmarks.items() if earmark.since_s < plan.time_s}
    return plan.ledger._replace(earmarks=earmarks)


_RULES = {
    "quota": "which is within its quota",
    "class": "which has a higher class",
    "promise": "whose promised time had come",
    "rescue": "a short job that had waited long",
}


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"


def _walltime(job: Job) -> str:
    return "no walltime" if job.estimate_s == UNLIMITED_S else show_duration(job.estimate_s)


def _left(left_s: float) -> str:
    return "a run without a walltime" if left_s == UNLIMITED_S else show_duration(left_s)


def _in(at_s: float, now_s: float) -> str:
    return "at an unknown time" if at_s == UNLIMITED_S else f"in {show_duration(at_s - now_s)}"
