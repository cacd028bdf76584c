"""What each reason claims would help its job, and how the claim is tried: exactly that is changed, and decided again.

A claim is read from the sentence that people get. Its function gives True where it came true, False where it did not,
and None where the sentence makes no such claim or a condition that it names does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from policy import Ledger, Settings, Snapshot, Vnode, decide
from policy.explain.queue_position import IN_LINE, InLine
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, HardLimits
from policy.model.limit_attributes import ALL, EntityKey
from policy.order.fair_share_tree import ROOT, FairShareTree, Group
from policy.order.site_order_settings import ROUND_ROBIN, SiteOrder
from policy.reasons.reason import Reason
from policy.reasons.reason_names import NumberName, ReasonCode
from policy.settings.settings_of_server_and_passes import ScheduleSettings
from policy.settings.site_settings import BackfillSettings, PrioritySettings, QuotaSettings, RescueSettings
from tests.property.oracles.reason_claims_on_quotas import (
    lifted_by_that_quota,
    lifted_once_given_back,
    not_once_it_may_be_preempted,
    not_without_that_cap,
    within_once_given_back,
    within_that_quota,
)
from tests.property.oracles.reason_what_if import Told, starts_of, with_entry

MUCH = 10**6


def starts_when_reserved(told: Told) -> bool | None:
    at_s = float(told.reason.number("at_s"))
    if at_s == UNLIMITED_S:
        return None
    history = told.until(max(at_s, told.parts.time_s), ends=True)
    if told.job.id in starts_of(history):
        return True
    if any(moved.id == told.job.id for _, _, plan in history.passes for moved in plan.moved):
        return None
    if not told.said("if the vnodes then meet what it requires"):
        return False
    reasons = [plan.reason_of(told.job.id) for _, _, plan in history.passes]
    return None if any(reason is not None and reason.code == "not-good-enough" for reason in reasons) else False


def _walltime(told: Told, words: str = "a walltime of at most") -> float | None:
    said = told.said(words + r" (\d+):(\d\d):(\d\d)")
    return None if said is None else int(said[1]) * 3600 + int(said[2]) * 60 + float(said[3])


def starts_with_the_longest_and_with_no_longer_one(told: Told) -> bool | None:
    """Where estimates are shrunk and the walltimes named have a gap, the longest and the shortest above it do; and in
    each case one of a second and a tenth more than the longest does not."""
    if not told.said("would let it start now") or told.settings.backfill.kind != "checkpoint":
        return None
    above = _walltime(told, "or of more than")
    upper = _walltime(told, "and at most") if above is not None else _walltime(told)
    if upper is None:
        return None
    good = [upper] if above is None else [above + 1, upper]
    if not all(told.with_job(estimate_s=seconds).starts() for seconds in good):
        return False
    return not told.with_job(estimate_s=upper * 1.1 + 2).starts()


def starts_with_that_walltime(told: Told) -> bool | None:
    walltime = _walltime(told)
    if walltime is None:
        return None
    changed = told.with_job(estimate_s=walltime)
    return changed.same_again() is None if told.said("ends before it") else changed.starts()


def starts_with_so_few_cores(told: Told) -> bool | None:
    said = told.said(r"at most ([\d,]+) cores?\b.* would let it start")
    return None if said is None else told.with_job(request=Request.of_cores(int(said[1].replace(",", "")))).starts()


def ends_before_the_window(told: Told) -> bool | None:
    walltime = _walltime(told)
    if walltime is None:
        return None
    same = told.with_job(estimate_s=walltime).same_again()
    return same is None or same.number("window") != told.reason.number("window")


def preempts_at_that_time(told: Told) -> bool | None:
    """At the time named the job preempts or has started, as long as the runs are there: none ends meanwhile."""
    if told.reason.code == "preempt-delay" and not told.said("could take now"):
        return None
    name: NumberName = "at_s" if told.reason.code == "preempt-delay" else "enough_s"
    history = told.until(float(told.reason.number(name)))
    if told.job.id in starts_of(history):
        return True
    before = {preempt.id for preempt in told.plan.preempts}
    if told.said("closure is in the way by then") or any(victim not in before for victim, _, _ in history.preempted):
        return None
    return False


def preempts_or_starts_with_that_walltime(told: Told) -> bool | None:
    return starts_with_that_walltime(told)


def numbers_add_up(told: Told) -> bool:
    """The cores that may be taken and those idle are too few, or the sentence says what else is in the way."""
    short = told.number("idle") + told.number("preemptible") < told.job.cores
    return short is (told.said("with the .* idle it would still not fit") is not None)


def so_many_are_ahead(told: Told) -> bool | None:
    """Those behind it change nothing for the job; with those ahead gone and as many cores as it lacks it starts."""
    said = told.said(r"jobs ahead of it: ([\d,]+)")
    if said is None:
        return False
    line = InLine(told.plan, told.settings)
    waiting = {job.id for wait in told.plan.waits if wait.reason.code in IN_LINE for job in wait.jobs}
    shared = _shares_a_line(told)
    count = int(said[1].replace(",", ""))
    places = {job_id: int(line.numbers(job_id)["ahead"]) for job_id in waiting & shared}
    ahead = {job_id for job_id, place in places.items() if place < count}
    if len(ahead) != count or len(set(places.values())) != len(places):
        return False
    behind = set(places) - ahead - {told.job.id}
    if told.without_jobs(behind).again().reason_of(told.job.id) is None:
        return False
    if told.reason.code != "too-few-idle" or not _is_plain(told):
        return True
    lacking = told.job.cores - told.number("idle")
    queue = next(queue for queue in told.parts.queues if queue.name == told.job.queue)
    more = Vnode("more", {"ncpus": lacking}, partition=queue.partition)
    too_large = {job.id for wait in told.plan.waits if wait.reason.code.startswith("never-") for job in wait.jobs}
    freed = told.without_jobs(ahead | too_large)
    freed = replace(freed, parts=replace(freed.parts, vnodes=(*freed.parts.vnodes, more)))
    plan = freed.again()
    reason = plan.reason_of(told.job.id)
    passed_over = reason is not None and reason.code == "passed-over"
    return passed_over or told.job.id in {start.job.id for start in plan.starts}


def _is_plain(told: Told) -> bool:
    """Whether cores and the order of the queue alone decide: no shapes, classes, victims, windows,
    requirements or stripes, nor an order that is another one when jobs are gone."""
    orders = [queue.order for queue in told.parts.queues if queue.order is not None]
    if any(order.taken == ROUND_ROBIN or order.fair_share is not None for order in orders):
        return False
    counts = told.job.request.only_cores and told.settings.backfill.order == "first-come" and told.job.rank is None
    counts = counts and not told.job.pinned
    windows = any(queue.closed for queue in told.parts.queues) or any(vnode.closed for vnode in told.parts.vnodes)
    striped = told.settings.stripe.layout != "none"
    return counts and not windows and not striped and not told.plan.classes and not told.plan.preempts


def _shares_a_line(told: Told) -> set[str]:
    """The jobs of queues that have one head with the job's."""
    parts = told.plan.started.cluster().partitions()
    queues = next((queues for _, queues, _ in parts if told.job.queue in queues), ())
    return {job.id for job in told.parts.jobs if job.queue in queues}


def reached_with_a_threshold_below(told: Told) -> bool:
    """With a threshold just below its value the reason is gone, with one at its value it is not."""
    value = float(told.reason.number("has"))
    below = told.with_orders(lambda order: replace(order, threshold=value - 1)).same_again()
    return below is None and told.with_orders(lambda order: replace(order, threshold=value)).same_again() is not None


def started_with_a_share(told: Told) -> bool:
    """With a share of the machine for its entity the reason is gone, and where those without shares may run too."""
    entity = str(told.reason.number("entity"))
    shared = FairShareTree([Group(entity, ROOT, 1)], 1, {})

    def changed(**changes: Any) -> bool:
        def change(order: SiteOrder) -> SiteOrder:
            return (
                order if order.fair_share is None else replace(order, fair_share=replace(order.fair_share, **changes))
            )

        return told.with_orders(change).same_again() is None

    return changed(tree=shared) and changed(enforced=False)


def fits_nowhere_now(told: Told) -> bool | None:
    """Beside what runs and starts there is no room for the job, even if it were alone in line."""
    if told.plan.again or told.plan.ledger.earmarks:
        return None
    alone = Snapshot.build(
        told.parts.time_s,
        told.parts.vnodes,
        told.parts.queues,
        [told.job],
        [*told.plan.started.runs.values()],
        told.parts.server,
        told.parts.readings,
    )
    ledger = told.plan.ledger._replace(promises={}, backfilled={})
    return told.job.id not in {start.job.id for start in decide(alone, ledger, _nobody_goes(told.settings)).starts}


def fits_not_even_alone(told: Told) -> bool:
    alone = replace(told.parts, runs=(), jobs=(told.job,))
    plan = decide(alone.snapshot(), Ledger(), _nobody_goes(told.settings))
    return not plan.starts


def fits_alone(told: Told) -> bool | None:
    """With no other job there it starts where it goes back to, if these vnodes take jobs."""
    alone = replace(told.parts, runs=(), jobs=(told.job,))
    fits = bool(decide(alone.snapshot(), Ledger(), _nobody_goes(told.settings)).starts)
    return fits is (told.said("which there would not be now even if all were idle") is None)


def may_under_that_limit(told: Told) -> bool | None:
    said = told.said(r"for a limit of (\d+)")
    who = str(told.reason.number("entity"))
    entity = ALL if who == "all jobs together" else told.entity()
    what, limit = str(told.reason.number("what")), int(said[1]) if said else 0
    if said is None:
        return False
    if told.reason.number("scope") == "the server":
        server = replace(told.parts.server, hard=_raised(told.parts.server.hard, what, entity, limit))
        changed = replace(told, parts=replace(told.parts, server=server))
    else:
        changed = told.with_queue(lambda queue: replace(queue, hard=_raised(queue.hard, what, entity, limit)))
    same = changed.same_again()
    if same is None or any(same.number(name) != told.reason.number(name) for name in ("scope", "entity", "what")):
        return True
    return None if _taken(same, "used", 1) > _taken(told.reason, "used", 1) else False


def has_enough_of_it(told: Told) -> bool | None:
    is_lacking_for_ever = "short" in dict(told.reason.numbers)
    said = told.said(r"(\d+) would be lacking" if is_lacking_for_ever else r"waits for (\d+) more")
    if said is None:
        return False
    resource = str(told.reason.number("resource"))
    shared = {**told.parts.server.shared, resource: told.parts.server.shared[resource] + int(said[1])}
    changed = replace(told, parts=replace(told.parts, server=replace(told.parts.server, shared=shared)))
    same = changed.same_again()
    if same is None or same.number("resource") != resource:
        return True
    if is_lacking_for_ever:
        return "short" not in dict(same.numbers)
    return None if _taken(same, "left", -1) < _taken(told.reason, "left", -1) + int(said[1]) else False


def _taken(reason: Reason, name: NumberName, sign: int) -> int:
    """What is in use, or left, with what is kept for other jobs."""
    return int(reason.number(name)) + sign * int(dict(reason.numbers).get("kept", 0))


def no_longer(change: Callable[[Told], Told]) -> Callable[[Told], bool]:
    """With this change the reason is gone."""
    return lambda told: change(told).same_again() is None


def _without_run_limits(told: Told) -> Told:
    vnodes = tuple(replace(vnode, run_limits=None) for vnode in told.parts.vnodes)
    return replace(told, parts=replace(told.parts, vnodes=vnodes))


def is_counted_with_a_quota(told: Told) -> bool:
    """With an own quota on cores the job is counted, also if it takes none."""
    return told.with_quota(("u", told.job.user), MUCH).same_again() is None


def only_until_then(told: Told) -> bool:
    """At the time named the reason is gone, and a second before it was not."""
    at_s = float(told.reason.number("at_s"))
    if at_s == UNLIMITED_S:
        return told.at(told.parts.time_s + MUCH).same_again() is not None
    return told.at(at_s).same_again() is None and (
        at_s - 1 <= told.parts.time_s or told.at(at_s - 1).same_again() is not None
    )


def starts_when_they_let_go(told: Told) -> bool:
    return told.starts()


def the_other_gets_them(told: Told) -> bool:
    other = str(told.reason.number("beneficiary"))
    return other in told.plan.ledger.earmarks or other in {start.job.id for start in told.plan.starts}


def may_beside_that_stripe(told: Told) -> bool:
    """At the time named no stripe of before keeps the job aside: one that has started since may."""
    plan = told.until(float(told.reason.number("at_s"))).passes[-1][2]
    reason = plan.reason_of(told.job.id)
    if reason is None or reason.code != "staggered":
        return True
    return plan.ledger.stripes[str(reason.number("vnode"))] > told.parts.time_s


def is_nearer_by_so_much(told: Told) -> bool | None:
    """With that much more of what it misses, the nearest vnode misses something else or nothing."""
    said = told.said(r"too (little|hot)")
    if said is None:
        return None
    name, quantity = str(told.reason.number("nearest")), str(told.reason.number("quantity"))
    has, short = float(told.reason.number("has")), float(told.reason.number("short"))
    field = "memory_kib" if quantity == "memory" else quantity
    reading = told.parts.readings.get(name)
    before = getattr(reading, field, None)
    if reading is None or before is None:
        return None
    after = before - short * 1.001 - 0.001 if quantity == "temperature" else before + short * 1.001 + 0.001
    readings = {**told.parts.readings, name: reading._replace(**{field: after})}
    changed = replace(told, parts=replace(told.parts, readings=readings))
    same = changed.same_again()
    if same is None or "nearest" not in dict(same.numbers):
        return True
    return (same.number("nearest"), same.number("quantity")) != (name, quantity) or same.number("has") == has


class Claim(NamedTuple):
    """``code`` claims what is ``said``; ``try_it`` tries that."""

    code: ReasonCode
    said: str
    try_it: Callable[[Told], bool | None]


CLAIMS = (
    Claim("reserved", "starts at the reserved time or earlier", starts_when_reserved),
    Claim("backfill-window", "starts with the walltime named", starts_with_that_walltime),
    Claim("backfill-window", "starts with the longest of them only", starts_with_the_longest_and_with_no_longer_one),
    Claim("backfill-window", "starts with as few cores as named", starts_with_so_few_cores),
    Claim("into-window", "with the walltime named that window is not in the way", ends_before_the_window),
    Claim("over-quota", "within the quota named", within_that_quota),
    Claim("over-quota", "within quota once so much is given back", within_once_given_back),
    Claim("unpreemptible", "within the quota named", within_that_quota),
    Claim("unpreemptible", "within quota once so much is given back", within_once_given_back),
    Claim("unpreemptible", "not once it may be preempted", not_once_it_may_be_preempted),
    Claim("no-lower-class", "preempts or says else without the cap named", not_without_that_cap),
    Claim("base-class", "lifted by the quota named", lifted_by_that_quota),
    Claim("base-class", "lifted once so much is given back", lifted_once_given_back),
    Claim("exempt-victims", "preempts or starts at the time named", preempts_at_that_time),
    Claim("preempt-delay", "preempts or starts at the time named", preempts_at_that_time),
    Claim("preempt-delays-head", "preempts or starts with the walltime named", preempts_or_starts_with_that_walltime),
    Claim("no-victims", "its numbers add up", numbers_add_up),
    Claim("too-few-lower", "its numbers add up", numbers_add_up),
    Claim("too-few-idle", "so many are ahead, and it starts without them if it has the cores", so_many_are_ahead),
    Claim("fragmented", "so many are ahead", so_many_are_ahead),
    Claim("fragmented", "fits nowhere now", fits_nowhere_now),
    Claim("too-few-idle", "fits nowhere now", fits_nowhere_now),
    Claim("topjob-ineligible", "fits nowhere now", fits_nowhere_now),
    Claim("never-fits", "does not fit without any other job", fits_not_even_alone),
    Claim("never-arranged", "does not fit without any other job", fits_not_even_alone),
    Claim("held-elsewhere", "does not fit without any other job", fits_not_even_alone),
    Claim("vnode-run-limit", "not without the limits of vnodes", no_longer(_without_run_limits)),
    Claim("pinned", "fits there with nobody else there", fits_alone),
    Claim("hard-limit", "may under the limit named", may_under_that_limit),
    Claim("server-resource", "may with so much more of it", has_enough_of_it),
    Claim("not-before", "only until the time named", only_until_then),
    Claim("queue-closed", "only until the time named", only_until_then),
    Claim("blocked", "not once it is released", no_longer(lambda told: told.with_job(blocked=""))),
    Claim(
        "queue-stopped",
        "not once it is started",
        no_longer(lambda told: told.with_queue(lambda queue: replace(queue, started=True))),
    ),
    Claim(
        "queue-unknown",
        "not once it is managed",
        no_longer(lambda told: told.with_queue(lambda queue: replace(queue, managed=True))),
    ),
    Claim("under-threshold", "not with a threshold below its value", reached_with_a_threshold_below),
    Claim("no-fair-share", "not with a share, nor where none is needed", started_with_a_share),
    Claim("no-quota", "not with a quota", is_counted_with_a_quota),
    Claim(
        "no-priority",
        "not with a priority",
        no_longer(
            lambda told: told.with_queue(
                lambda queue: replace(queue, priorities=with_entry(queue.priorities, ("u", told.job.user), 1))
            )
        ),
    ),
    Claim("preempting", "starts when they have let go", starts_when_they_let_go),
    Claim("passed-over", "the one named starts or preempts", the_other_gets_them),
    Claim("staggered", "not by that stripe at the time named", may_beside_that_stripe),
    Claim("not-good-enough", "no longer missed with so much more", is_nearer_by_so_much),
    Claim(
        "limit-of-pass",
        "not without that limit",
        no_longer(
            lambda told: replace(told, settings=replace(told.settings, schedule=ScheduleSettings(max_starts=MUCH)))
        ),
    ),
    Claim(
        "behind-head",
        "not with backfilling",
        no_longer(lambda told: replace(told, settings=replace(told.settings, backfill=BackfillSettings(kind="easy")))),
    ),
    Claim(
        "victims-of-pass",
        "not without that limit",
        no_longer(
            lambda told: replace(
                told, settings=replace(told.settings, quota=replace(told.settings.quota, max_victims_per_pass=MUCH))
            )
        ),
    ),
)


CLAIM_NOTHING: Mapping[ReasonCode, str] = MappingProxyType(
    {
        "left-undone": "the hooks give it, for what they did not carry out of a plan",
        "not-looked-at": "only a pass without time left gives it: tests/property/test_pass_time_limit_laws.py",
        "promise-moved": "what has happened to the promise of a head, whatever is changed now",
        "preempted-quota": "why a run is preempted",
        "preempted-class": "why a run is preempted",
        "cut-for-promise": "why a run is cut",
        "cut-for-rescue": "why a run is cut",
        "striped": "where a start goes",
        "packed": "where a start goes",
        "stripe-unplaced": "what was tried before the place that a start goes to",
    }
)
"""The codes whose sentences say nothing that would help the job, and why not."""


def _raised(hard: HardLimits, what: str, entity: EntityKey, limit: int) -> HardLimits:
    if what == "running jobs":
        return replace(hard, max_run=with_entry(hard.max_run, entity, limit))
    return replace(hard, max_run_res={**hard.max_run_res, what: with_entry(hard.max_run_res[what], entity, limit)})


def _nobody_goes(settings: Settings) -> Settings:
    return replace(
        settings,
        backfill=BackfillSettings(kind="easy"),
        quota=QuotaSettings(preempt=False, counted=settings.quota.counted),
        priority=PrioritySettings(preempt=False),
        rescue=RescueSettings(enabled=False),
        schedule=ScheduleSettings(max_starts=MUCH),
    )
