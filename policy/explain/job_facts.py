"""What is told of one job beside its reason: its quota and class, how it is tested, how it may be cut, why it is there.

Each line follows from the snapshot, the settings and the ledger that the plan leaves; where a decision depended on
more than that, nothing is said (docs/policies.md, "Reasons").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policy.backfill.runtime_estimates import Estimates
from policy.cycle.rescue import waits_until_s
from policy.eligibility.own_priorities import queue_order
from policy.eligibility.priority_classes import BASE, Classes
from policy.eligibility.quotas import Quotas
from policy.explain.longest_walltime import Longest
from policy.explain.queue_position import InLine
from policy.model.allocation import Placement
from policy.model.cluster import UNLIMITED_S, Job, Run
from policy.model.ledger import Ledger
from policy.model.limits import show_entity
from policy.model.preferences import RankWish
from policy.model.units import show_count, show_duration, show_job
from policy.plan.plan import Plan, Start
from policy.ranking.ranking import Ranking, Standing
from policy.reasons.reason import CODES, Number, Reason, show_quota
from policy.settings.site_settings import Settings
from policy.state.cluster_index import World

_VNODES = 3


class Line(NamedTuple):
    """A label and what is said under it."""

    label: str
    text: str


class Facts:
    """The facts of one pass that lines are made of."""

    def __init__(self, world: World, plan: Plan, settings: Settings) -> None:
        self._world = world
        self._plan = plan
        self._settings = settings
        self._now_s = plan.time_s
        self._in_line = InLine(plan, settings)
        self._longest = Longest(world, plan, settings)
        self._quotas = Quotas(world, settings.quota.counted)
        self._estimates = Estimates(settings, plan.ledger, plan.time_s)
        self._classes = Classes(world, _before(plan), self._quotas, plan.time_s) if world.has_priorities else None
        if self._classes is not None:
            self._classes.order(queue_order(world, plan.time_s))

    # Who

    def about(self, job: Job) -> list[Line]:
        """Whose job it is, its size, its user's quotas and its class."""
        quotas = self._quotas
        standing = [
            f"{show_entity(entity)} holds {quotas.used(scope, entity, resource)} of"
            f" {show_quota(limit, resource, scope, job.queue)}"
            for scope, resource, entity, limit in quotas.bounds(job)
        ]
        size = f"{show_count(job.cores, 'core')}, {_walltime(job)}"
        return [Line("job", f"{job.user} · {job.queue} · {size} · {'; '.join(standing) or 'no quota'}")]

    def class_of(self, job: Job, run_id: str | None = None) -> list[Line]:
        """The job's class, and what is left of the priority quota; the one it started in for a run (P2)."""
        classes = self._classes
        if classes is None:
            return []
        subject = classes.subject(job)
        if run_id is not None:
            frozen = self._plan.ledger.classes.get(run_id, classes.of_runs.get(run_id, BASE))
            return [Line("class", f"{_class(frozen)}, since its start")]
        if subject is None:
            return [Line("class", f"base: {job.user} has no priority in queue {job.queue}")]
        of = classes.remaining(job)
        what = "" if of.resource == "ncpus" else f" {of.resource}"
        left = f"{of.amount}{what} left of the priority quota of {of.limit} after the jobs in line"
        return [Line("class", f"{_class(classes.of(job))}: {show_entity(subject.entity)} has {left}")]

    def more_of(self, job: Job, reason: Reason) -> Mapping[str, Number]:
        """What no shared reason has: the job's place in line, the longest walltime with which it would start where
        estimates are shrunk, and what would lift it out of the base class whatever the jobs of the same quota that
        come before it take."""
        numbers = {**self._in_line.numbers(job.id), **self._longest.numbers(job, reason)}
        lifted = None if self._classes is None else self._classes.lifted_by(job)
        if lifted is not None:
            numbers["lifts_at"], numbers["held"] = lifted
        return numbers

    # How a waiting job is tested, and may be helped

    def tested(self, job: Job, reason: Reason) -> list[Line]:
        """With what estimate a job was tested that passes a reservation, and why with all of it (P3)."""
        at_s, head = float(reason.number("before_s")), show_job(str(reason.number("head")))
        if not self._estimates.shrinks:
            return []
        promised_s = self._longest.promised_s(job)
        tested = self._estimates.tested(job, at_s, promised_s)
        if tested.cuttable:
            part = "all" if tested.estimate_s == job.left_s else show_duration(tested.estimate_s)
            return [Line("tested with", f"{part} of {_left(job)}: it may be cut when {head} is to start")]
        return [Line("tested with", f"all of {_left(job)}: {self._why_in_full(job, at_s, promised_s)}")]

    def _why_in_full(self, job: Job, at_s: float, promised_s: float) -> str:
        """The same condition as decided, in words."""
        settings, window_s = self._settings, at_s - self._now_s
        if job.left_s <= settings.backfill.shrink_threshold_s:
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

    def rescue(self, job: Job) -> list[Line]:
        """Whether the job is short enough to be rescued, and since when it may be (P3's second step)."""
        settings = self._settings.rescue
        short_s = self._estimates.short_s(job)
        if not settings.enabled or short_s > settings.short_s:
            return []
        until_s = waits_until_s(job, short_s, settings, self._plan.ledger.cuts)
        short = f"short ({show_duration(short_s)} expected)"
        if until_s > self._now_s:
            return [Line("rescue", f"{short}: one run may be cut for it in {show_duration(until_s - self._now_s)}")]
        return [Line("rescue", f"{short} and has waited long enough: one run may be cut for it, if one is there")]

    # What became of it before

    def history(self, job: Job) -> list[Line]:
        """How often it was preempted, who gets its cores, and what is left of its work."""
        ledger = self._plan.ledger
        count = ledger.preemptions.get(job.id, 0)
        if not count:
            return []
        lines = [Line("history", f"preempted {_times(count)}")]
        cut = ledger.cuts.get(job.id)
        if cut is not None and cut.code in CODES:
            ago = show_duration(self._now_s - cut.at_s)
            lines.append(Line("history", f"{ago} ago {Reason(cut.code, cut.numbers).sentence(job, self._now_s)}"))
        most = self._settings.quota.max_preemptions
        if most is not None and count >= most:
            lines.append(Line("history", f"it will not be again: quota.max_preemptions is {most}"))
        for beneficiary, hold in sorted(ledger.holds.items()):
            if job.id in hold.victims:
                rule = _RULES.get(hold.rule, hold.rule)
                lines.append(Line("history", f"its cores are kept for {show_job(beneficiary)}, {rule}"))
        lines.append(Line("work", self._work(job)))
        return lines

    def _work(self, job: Job) -> str:
        if job.saved_s > 0:
            return f"{show_duration(job.saved_s)} of its run are saved, so {_left(job)} are to run"
        if job.saved_s < 0:
            return f"saving cost more than was done: {_left(job)} are to run"
        if self._estimates.may_save(job):
            return f"nothing is known to be saved: all of {_left(job)} is to run"
        return f"it does not save its work, so it runs again from its beginning: {_left(job)}"

    # A run

    def of_run(self, run: Run) -> list[Line]:
        """How it got in, whether it may be cut, and whether it may be preempted."""
        lines: list[Line] = []
        entry = self._plan.ledger.backfilled.get(run.id)
        if entry is not None:
            if not entry.cuttable:
                told = "started ahead of the job first in line, which loses nothing by it: it is not cut"
            elif entry.end_s > self._now_s:
                told = f"expected to end {_in(entry.end_s, self._now_s)}; may be cut at the time promised to a head"
            else:
                told = "has outlived the estimate it was tested with; may be cut at the time promised to a head"
            lines.append(Line("backfilled", told))
        standing = self._quotas.surplus(run.job, run.placement) if self._settings.quota.preempt else None
        if standing is not None:
            who = show_entity(standing.entity)
            quota = show_quota(standing.limit, standing.resource, standing.scope, run.job.queue)
            over = f"{who} holds {standing.used} of {quota}, and keeps it without this run"
            lines.append(Line("may go", f"{over}: a job within quota may take its cores"))
        counted_now = any(preempt.id == run.id and not preempt.again for preempt in self._plan.preempts)
        count = self._plan.ledger.preemptions.get(run.id, 0) - counted_now
        if count > 0:
            lines.append(Line("history", f"preempted {_times(count)} before"))
        return lines

    # Why there

    def why_starts_there(self, start: Start) -> list[Line]:
        """Why a start goes to these vnodes: what decided its layout and what was tried before, then as for a run."""
        tried = () if start.why is None else (start.why, *start.why.tried)
        lines = [Line("why there", reason.sentence(start.job, self._now_s)) for reason in tried]
        return lines + self._by_rank(start.job, start.placement) or [Line("why there", _packed(start.job))]

    def why_runs_there(self, run: Run) -> list[Line]:
        """Why a run is where it is: its rank, the stripe it started as, or packed (P4, P5)."""
        stripes, vnodes = self._plan.ledger.stripes, run.placement.vnodes
        lines = self._by_rank(run.job, run.placement)
        if any(stripes.get(vnode) == run.start_s for vnode in vnodes):
            lines.append(Line("why there", f"a stripe over {len(vnodes)} vnodes started there with it"))
        return lines or [Line("why there", _as_asked(run.job))]

    def _by_rank(self, job: Job, placement: Placement) -> list[Line]:
        """The first of these vnodes with their places in the list that is ranked by the job's wish."""
        ranking = Ranking(self._world, self._settings.ranking, self._now_s)
        wish = ranking.wish_of(job)
        if wish is None:
            return []
        ranks = _ranks(ranking, wish, placement, self._world.vnodes_of(job.queue), self._world)
        return [
            Line("why there", f"{vnode}: {_score(ranking.standing(wish, vnode), wish)}{_rank(ranks.get(vnode))}")
            for vnode in placement.vnodes[:_VNODES]
            if vnode in self._world.vnodes
        ]


def _as_asked(job: Job) -> str:
    """What is known of a run that neither a rank nor a stripe put where it is: whoever started it kept to its place."""
    place = f"place={job.request.place}" if job.request.place != "free" else "any vnodes"
    return f"nothing but what it asks for decided: {place}"


def _packed(job: Job) -> str:
    """How :mod:`policy.fit.fit` places a request of this kind."""
    if job.request.place == "scatter":
        return "one chunk on each host, as its place asks, the fullest first"
    if job.request.place == "pack":
        return "all on one host, as its place asks"
    return "the fewest vnodes that hold it: the fullest one that holds all of it, else the emptiest"


def _ranks(ranking: Ranking, wish: RankWish, placement: Placement, vnodes: int, world: World) -> dict[str, int]:
    """The place of each of the first vnodes of a placement in the ranked list of those open to the job."""
    bits = world.capacity.directory.bits
    wanted = {bits[vnode]: vnode for vnode in placement.vnodes[:_VNODES] if vnode in bits}
    ranks: dict[str, int] = {}
    for number, bit in enumerate(ranking.ordered(wish, vnodes), start=1):
        if bit in wanted:
            ranks[wanted[bit]] = number
            if len(ranks) == len(wanted):
                break
    return ranks


def _score(standing: Standing, wish: RankWish) -> str:
    """The vnode's priority by the mode, its compliance, and their product, as the readings are now."""
    by = f"by {wish.mode}"
    if standing.compliance is None or standing.priority is None:
        return f"{by}, without a recent reading"
    if standing.score is None:
        return f"{by} {standing.priority:.3g}, U {standing.compliance:.3g}: below what it requires by now"
    return f"{by} S = {standing.priority:.3g} x U {standing.compliance:.3g} = {standing.score:.3g}"


def _rank(number: int | None) -> str:
    return "" if number is None else f", number {number} of those that meet its requirements now"


def _before(plan: Plan) -> Ledger:
    """What the pass knew of holds: those that it made itself came after the classes."""
    holds = {job: hold for job, hold in plan.ledger.holds.items() if hold.since_s < plan.time_s}
    return plan.ledger._replace(holds=holds)


_RULES = {
    "quota": "which is within its quota",
    "class": "which has a higher class",
    "promise": "whose promised time had come",
    "rescue": "a short job that had waited long",
}


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"


def _class(rank: int) -> str:
    return "base" if rank == BASE else str(rank)


def _walltime(job: Job) -> str:
    return "no walltime" if job.estimate_s == UNLIMITED_S else show_duration(job.estimate_s)


def _left(job: Job) -> str:
    return "a run without a walltime" if job.left_s == UNLIMITED_S else show_duration(job.left_s)


def _in(at_s: float, now_s: float) -> str:
    return "at a time nobody can tell" if at_s == UNLIMITED_S else f"in {show_duration(at_s - now_s)}"
