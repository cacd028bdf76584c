"""What a change would do to the current runs and jobs: the same pass decided without and with it, and compared.

The differences are listed job by job, with the number of runs that become open to preemption or safe from it.
"""

from __future__ import annotations

from collections.abc import Container
from math import isfinite
from typing import Any, NamedTuple

from policy.cycle.engine import decide
from policy.eligibility.classes_by_priority_quota import Classes
from policy.eligibility.soft_quotas import Quotas
from policy.explain.longest_backfill_walltime import Longest
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.ledger_between_passes import Ledger
from policy.model.pbs_units import show_duration, show_job
from policy.model.priority_class import BASE, EXPRESS
from policy.plan.plan_types import Plan
from policy.reasons.reason import Reason
from policy.settings.site_settings import Settings
from policy.state.cluster_index import ClusterIndex
from policy.state.cluster_snapshot import Changes, Snapshot


class Effect(NamedTuple):
    """One effect of the change. ``kind``: starts, stays-queued, preempted, spared, gets-cores, loses-cores, reserved,
    unreserved, delayed, sooner, safe or open. ``job``: the job's id, or the user's name for the last two. ``would``:
    the sentence to use if the plan is not carried out, as in a queue that is only observed."""

    kind: str
    job: str
    sentence: str
    would: str


class Preview(NamedTuple):
    """The pass without and with the change, and the differences: ``effects`` in the next pass, ``later`` after it."""

    before: Plan
    after: Plan
    effects: tuple[Effect, ...]
    later: tuple[Effect, ...]

    def as_json(self) -> dict[str, Any]:
        """The differences as plain data."""
        return {"next_pass": [e._asdict() for e in self.effects], "from_then_on": [e._asdict() for e in self.later]}


def preview(snapshot: Snapshot, changes: Changes, ledger: Ledger, settings: Settings) -> Preview:
    """Compare the next pass on the snapshot with the same pass after the changes."""
    return compare(snapshot, snapshot.apply(changes._replace(time_s=snapshot.time_s)), ledger, settings)


def compare(now: Snapshot, changed: Snapshot, ledger: Ledger, settings: Settings) -> Preview:
    """Compare the next pass on the snapshot as it is with the same pass on the changed one."""
    after = decide(changed, ledger, settings)
    open_after = _open_to_preemption(changed, ledger, settings)
    before = decide(now, ledger, settings)
    open_before = _open_to_preemption(now, ledger, settings)
    index = changed.cluster()
    outcomes = _still_there(_outcomes(before), index)
    effects = _compare(outcomes, _outcomes(after), Longest(index, after, settings), now.time_s)
    effects += _moved(before, after, index)
    return Preview(before, after, tuple(effects), tuple(_later(open_before, open_after, index.runs)))


class _Outcome(NamedTuple):
    job: Job
    kind: str
    reason: Reason | None


def _outcomes(plan: Plan) -> dict[str, _Outcome]:
    outcomes = {start.id: _Outcome(start.job, "start", None) for start in plan.starts}
    for preempt in plan.preempts:
        outcomes[preempt.id] = _Outcome(preempt.run.job, "preempt", preempt.reason)
    for wait in plan.waits:
        kind = {"preempting": "hold", "reserved": "head"}.get(wait.reason.code, "wait")
        for job in wait.jobs:
            outcomes.setdefault(job.id, _Outcome(job, kind, wait.reason))
    return outcomes


def _still_there(before: dict[str, _Outcome], changed: ClusterIndex) -> dict[str, _Outcome]:
    """The outcomes without the change, of what it leaves: a run that it ends is not spared, a job that it takes away
    does not stay queued."""
    return {
        job_id: outcome
        for job_id, outcome in before.items()
        if (job_id in changed.runs if outcome.kind == "preempt" else outcome.job.id in changed.jobs)
    }


_NEW = {
    "start": ("starts", "starts", "would start"),
    "preempt": ("preempted", "is preempted", "would be preempted"),
    "hold": ("gets-cores", "starts as soon as its victims have freed their cores", "would start after its victims"),
    "head": ("reserved", "becomes first in line", "would become first in line"),
}
_OLD = {
    "start": ("stays-queued", "no longer starts", "would no longer start"),
    "preempt": ("spared", "is no longer preempted", "would no longer be preempted"),
    "hold": ("loses-cores", "no longer gets cores by preemption", "would no longer get cores by preemption"),
    "head": ("unreserved", "is no longer first in line", "would no longer be first in line"),
}


def _compare(before: dict[str, _Outcome], after: dict[str, _Outcome], longest: Longest, now_s: float) -> list[Effect]:
    effects: list[Effect] = []
    for job_id in sorted({*before, *after}, key=lambda job_id: _importance(before, after, job_id)):
        old, new = before.get(job_id), after.get(job_id)
        if (old and old.kind) == (new and new.kind):
            continue
        job = (new or old or before[job_id]).job
        subject = f"{show_job(job_id)} {job.user} {job.cores}c"
        if new is not None and new.kind in _NEW:
            kind, text, would = _NEW[new.kind]
            if new.reason is not None and new.kind != "hold":
                why = new.reason.sentence(job, now_s)
                text, would = f"is {why}", f"would be {why}"
            effects.append(Effect(kind, job_id, f"{subject} {text}", f"{subject} {would}"))
        elif old is not None and old.kind in _OLD:
            kind, text, would = _OLD[old.kind]
            why = ""
            if new is not None and new.reason:
                why = new.reason.sentence(job, now_s, longest.numbers(job, new.reason))
            text, would = (f"{text} and waits: {why}", f"{would}, but wait: {why}") if why else (text, would)
            effects.append(Effect(kind, job_id, f"{subject} {text}", f"{subject} {would}"))
    return effects


_A_MINUTE_S = 60


def _moved(before: Plan, after: Plan, changed: ClusterIndex) -> list[Effect]:
    """The reservations that are there without and with the change, at another time."""
    at_s = {estimate.id: estimate.at_s for estimate in before.estimates}
    effects: list[Effect] = []
    for estimate in after.estimates:
        job, was_s = changed.jobs.get(estimate.id), at_s.get(estimate.id)
        if job is None or was_s is None or was_s == estimate.at_s or abs(was_s - estimate.at_s) < _A_MINUTE_S:
            continue
        is_late = estimate.at_s > was_s
        old, new = (
            show_duration(time_s - after.time_s) if isfinite(time_s) else "" for time_s in (was_s, estimate.at_s)
        )
        when = f"its reserved start is in {new}" if new else "no time can be told for its start"
        was = f"not in {old}" if old else "not at an unknown time"
        kind, how, would = (
            ("delayed", "waits longer", "would wait longer") if is_late else ("sooner", "waits less", "would wait less")
        )
        who = f"{show_job(job.id)} {job.user} {job.cores}c"
        effects.append(Effect(kind, job.id, f"{who} {how}: {when}, {was}", f"{who} {would}: {when}, {was}"))
    return effects


def _importance(before: dict[str, _Outcome], after: dict[str, _Outcome], job_id: str) -> tuple[int, int, str]:
    """The order of effects: preemptions first, then by cores."""
    outcomes = [side[job_id] for side in (before, after) if job_id in side]
    kinds = {outcome.kind for outcome in outcomes}
    rank = next((rank for rank, kind in enumerate(("preempt", "hold", "start", "head")) if kind in kinds), 9)
    return rank, -outcomes[0].job.cores, job_id


def _open_to_preemption(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> dict[str, set[str]]:
    """By user, the runs that rule A or B would offer to some job."""
    cluster = snapshot.cluster()
    quotas = Quotas(cluster, settings.quota.counted)
    by_class = settings.priority.preempt and cluster.has_classes
    classes = Classes(cluster, ledger, quotas, snapshot.time_s) if by_class else None
    highest = _highest_priorities(cluster) if classes is not None else {}
    found: dict[str, set[str]] = {}
    for run in cluster.runs.values():
        by_quota = settings.quota.preempt and quotas.surplus(run.job, run.allocation) is not None
        by_class = classes is not None and classes.of_run(run) < highest.get(run.job.queue, BASE)
        if run.job.rerunable and (by_quota or by_class):
            found.setdefault(run.job.user, set()).add(run.id)
    return found


def _highest_priorities(cluster: ClusterIndex) -> dict[str, int]:
    """For each managed queue, the highest class in any managed queue that shares vnodes with it."""
    regions = cluster.regions()
    managed = {queue.name: queue for queue in cluster.queues.values() if queue.managed}
    highest: dict[int, int] = {}
    for name, queue in managed.items():
        express = (EXPRESS + queue.priority,) if queue.is_express else ()
        for priority in (*queue.priorities.entries.values(), *express):
            highest[regions[name]] = max(priority, highest.get(regions[name], BASE))
    return {name: highest.get(regions[name], BASE) for name in managed}


def _later(before: dict[str, set[str]], after: dict[str, set[str]], runs: Container[str]) -> list[Effect]:
    """By user, how many of the ``runs`` that are left become safe or open."""
    effects: list[Effect] = []
    for user in sorted({*before, *after}):
        safe = sum(run in runs for run in before.get(user, set()) - after.get(user, set()))
        now_open = len(after.get(user, set()) - before.get(user, set()))
        if safe:
            effects.append(_may("safe", user, safe, "no longer be preempted"))
        if now_open:
            effects.append(_may("open", user, now_open, "be preempted"))
    return effects


def _may(kind: str, user: str, count: int, what: str) -> Effect:
    whose = f"{count} running {'job' if count == 1 else 'jobs'} of {user}'s"
    return Effect(kind, user, f"{whose} can {what}", f"{whose} could {what}")
