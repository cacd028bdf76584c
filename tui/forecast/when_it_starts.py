"""When one job starts: by the forecast that passes have published if it is young and knows the job, else by one made
now on what the server shows.

Nothing is shown of other jobs that the user's own look at the server does not show.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from hooks.forecast.forecast_to_publish import publishable
from hooks.forecast.published_forecast import LATER, Estimate, PublishedForecast
from hooks.forecast.scale_forecast_to_cpu_time import Within, forecast_within
from hooks.pbs.job_attributes.job_ids_and_states import is_running, parent_of
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.quota_plan.limits_ahead_by_quota_plan import planned_limits
from hooks.translate.job.jobs import explain_subjob_limit
from hooks.translate.queues import read_modes
from hooks.translate.snapshot import translate
from policy import Ledger, decide
from policy.explain.queue_position import InLine
from policy.forecast.simulate_forward import LimitsFrom
from tui.forecast.job_not_submitted_yet import NEW_JOB, ProposedJob, alternatives, find_refusals, with_job
from tui.forecast.past_runs_to_forecast_from import Learned
from tui.forecast.same_cores_in_smaller_chunks import find_smaller_chunks
from tui.model.status_counts import subjobs_of
from tui.model.typed_attributes import MAY_START_STATES
from tui.state.cluster_view import ClusterView
from tui.state.snapshot_by_last_pass import translate_by_last_pass

OLD_S = 900.0
"""A published forecast that is older is not used where a new one can be made."""

_NEVER = ("never-fits", "never-arranged")
_NOT_BY_ITSELF = (*_NEVER, "held-elsewhere", "blocked", "queue-stopped", "queue-unknown")
"""Reasons that no end of a run and no time ends. A forecast with a start of such a job is of an earlier state: the
queue was stopped, the job altered or its vnodes went offline since."""

HIDDEN = "another job"
"""In the place of the id of a job that the user is not shown."""


class When(NamedTuple):
    """The answer for one job. ``forecast`` is what it comes from, ``by`` whose that is; ``estimate`` is None if the job
    does not start by itself, which ``waits_for`` explains; of one that starts beyond what the forecast looks at it has
    what that waits for now. ``never``: why the vnodes as they are could never hold the job; empty if they could.
    ``learned_from``: the past runs. ``subjobs``: the running ones of an array at its ``max_run_subjobs``, one of which
    has to end first."""

    estimate: Estimate | None
    waits_for: str
    forecast: PublishedForecast
    by: str
    learned_from: str = ""
    never: str = ""
    subjobs: tuple[str, ...] = ()

    @property
    def is_beyond(self) -> bool:
        """Whether the job starts by itself, but later than the forecast looks."""
        return self.estimate is not None and not _has_start(self.estimate)

    @property
    def has_start(self) -> bool:
        """Whether the job starts by itself within what the forecast looks at, at least in half of the cases or if all
        jobs run as long as they asked for."""
        return self.estimate is not None and not self.is_beyond


class ProposedJobForecast(NamedTuple):
    """The answer for a job that is not submitted: itself, its alternatives that start, each with its name and request,
    the names and answers of those that do not, and why PBS would refuse it as it is."""

    proposed: ProposedJob
    when: When
    others: list[tuple[str, ProposedJob, When]]
    without_start: list[tuple[str, When]]
    refusals: list[str]


def when_it_starts(
    cluster: ClusterView, job_id: str, learn: Callable[[], Learned], cpu_s: float, *, fresh: bool = False
) -> When:
    """When a waiting job starts. ``learn`` returns the past runs, asked for only where they are needed; ``fresh``: not
    by what was published."""
    published = cluster.passes.forecast
    # What it knows of a job that was held or released since is no longer true.
    may_start = (cluster.job(job_id) or {}).get("job_state", "") in MAY_START_STATES
    if published is not None and may_start and not fresh and published.age_s(cluster.now_s) <= OLD_S:
        estimate = published.of(job_id)
        if estimate is not None and not (_has_start(estimate) and _starts_not_by_itself(cluster, job_id)):
            when = When(_shown(estimate, cluster), "", published, "the passes")
            return _explained(_with_never(when, cluster.server_status, cluster, job_id), cluster, job_id)
    return _explained(_made(cluster.server_status, cluster, job_id, learn(), cpu_s), cluster, job_id)


def _has_start(estimate: Estimate) -> bool:
    return estimate.half_s is not None or estimate.last_s is not None


def _starts_not_by_itself(cluster: ClusterView, job_id: str) -> bool:
    """Whether the job waits now for what only a person changes, by the decision of a pass made now."""
    found = None if cluster.decision is None else cluster.decision.reason_of(job_id)
    return found is not None and found[1].code in _NOT_BY_ITSELF


def when_known(cluster: ClusterView, job_id: str) -> When | None:
    """When a waiting job starts by the newest forecast that there is already; None if that does not know the job."""
    known = cluster.forecast
    estimate = known.of(job_id) if known is not None else None
    if known is None or estimate is None:
        return None
    by = "the passes" if known is cluster.passes.forecast else "this console"
    when = When(_shown(estimate, cluster), "", known, by)
    found = cluster.decision.reason_of(job_id) if cluster.decision is not None else None
    if found is None or found[1].code not in _NOT_BY_ITSELF:
        return when
    if not when.is_beyond:
        return None
    if found[1].code not in _NEVER:
        return when
    return when._replace(never=_explained(when, cluster, job_id).waits_for)


def when_submitted(
    cluster: ClusterView, proposed: ProposedJob, asked: Mapping[str, str], learned: Learned, cpu_s: float
) -> ProposedJobForecast:
    """When a job would start that was submitted now, and when its alternatives; each with the same drawn run times."""
    split = _in_smaller_chunks(cluster, proposed)
    others = [*alternatives(cluster, proposed, asked), *([split] if split is not None else [])]
    never = [
        _why_never(with_job(cluster, each), cluster, NEW_JOB) for each in (proposed, *(each for _, each in others))
    ]
    part_s = cpu_s / max(1, never.count(""))

    def made(each: ProposedJob, why_never: str) -> When:
        if why_never:
            return _never_of(cluster, learned, why_never)
        return _made(with_job(cluster, each), cluster, NEW_JOB, learned, part_s)

    when = made(proposed, never[0])
    if when.is_beyond:
        when = when._replace(waits_for=_wait_of_new_job(cluster, proposed))
    found = [(name, each, made(each, why_never)) for (name, each), why_never in zip(others, never[1:])]
    return ProposedJobForecast(
        proposed,
        when,
        [each for each in found if each[2].has_start],
        [(name, other) for name, _, other in found if not other.has_start],
        find_refusals(cluster, proposed),
    )


def _never_of(cluster: ClusterView, learned: Learned, why: str) -> When:
    """The answer for a job that the vnodes could never hold, which needs no forecast."""
    now_s = cluster.now_s
    nothing_drawn = PublishedForecast(now_s, now_s, 0, 0, learned.runs, 0.0, {NEW_JOB: LATER})
    return When(LATER, "", nothing_drawn, "this command", learned.source, why)


def _in_smaller_chunks(cluster: ClusterView, proposed: ProposedJob) -> tuple[str, ProposedJob] | None:
    """The same cores in more, smaller chunks, with its name; None if that is no better than the request itself."""
    there = translate(with_job(cluster, proposed), cluster.settings).snapshot.cluster()
    request = there.jobs[NEW_JOB].request
    found = find_smaller_chunks(there, request, proposed.queue)
    if found is None:
        return None
    select = found.select
    name = f"with the same cores in smaller chunks, {select}"
    return name, replace(proposed, resources={**proposed.resources, "select": select})


def _explained(when: When, cluster: ClusterView, job_id: str) -> When:
    """Add what the job waits for now to an answer that only says that it starts beyond the forecast."""
    decision = cluster.decision
    found = decision.reason_of(job_id) if decision is not None and when.is_beyond else None
    if decision is None or found is None:
        return when
    job, reason = found
    return when._replace(waits_for=reason.sentence(job, cluster.now_s, decision.more_of(job_id)))


def _wait_of_new_job(cluster: ClusterView, proposed: ProposedJob) -> str:
    """What a job that is not submitted would wait for; empty if it would start at once."""
    return _what_it_waits_for(with_job(cluster, proposed), cluster, cluster.ledger, NEW_JOB)[1]


def _what_it_waits_for(status: ServerStatus, cluster: ClusterView, ledger: Ledger, job_id: str) -> tuple[str, str]:
    """The code and the sentence of the reason for which a job would wait in that status; empty if it would start."""
    settings = cluster.settings
    snapshot = translate_by_last_pass(status, settings, cluster.passes).snapshot
    plan = decide(snapshot, ledger, settings)
    for wait in plan.waits:
        for job in wait.jobs:
            if job.id == job_id:
                more = InLine(plan, settings).numbers(job_id)
                return wait.reason.code, wait.reason.sentence(job, snapshot.time_s, more)
    return "", ""


def _made(status: ServerStatus, cluster: ClusterView, job_id: str, learned: Learned, cpu_s: float) -> When:
    begun_s = time.process_time()
    snapshot = translate_by_last_pass(status, cluster.settings, cluster.passes).snapshot
    within = Within(cpu_s=cpu_s, draws=cluster.settings.forecast.draws)
    planned, history = planned_limits_of(cluster, status, within.horizon_s), learned.history
    *_, made = forecast_within(
        snapshot, cluster.ledger, cluster.settings, history, learned.record, within,
        wanted=frozenset([job_id]), planned=planned,
    )  # fmt: skip
    published = publishable(made.forecast, learned.runs, time.process_time() - begun_s, made.left_out)
    estimate, waits_for = published.of(job_id), published.unknown.get(job_id, "")
    if estimate is None and not waits_for:
        waits_for = "something that pbsteer does not decide about: its queue is not one that it serves"
    subjobs = _subjobs_at_limit(status, job_id, waits_for)
    when = When(_shown(estimate, cluster), waits_for, published, "this command", learned.source, subjobs=subjobs)
    return _with_never(when, status, cluster, job_id)


def _subjobs_at_limit(status: ServerStatus, array_id: str, waits_for: str) -> tuple[str, ...]:
    """The running subjobs of an array if it waits only for the end of one of them; else none."""
    subjobs = [each for each in subjobs_of(status.jobs).get(array_id, ()) if is_running(status.jobs[each])]
    is_so = waits_for and waits_for == explain_subjob_limit(status.jobs[array_id], len(subjobs))
    return tuple(subjobs) if is_so else ()


def _with_never(when: When, status: ServerStatus, cluster: ClusterView, job_id: str) -> When:
    """The answer with why the job could never start, if it starts in no case that was looked at."""
    if not when.is_beyond:
        return when
    return when._replace(never=_why_never(status, cluster, job_id))


def _why_never(status: ServerStatus, cluster: ClusterView, job_id: str) -> str:
    """What the vnodes lack to hold the job even without any other; empty if they could hold it."""
    # Other waiting jobs change nothing of it; what runs tells how much of the vnodes is in use beside jobs.
    jobs = {each: texts for each, texts in status.jobs.items() if each == job_id or texts.get("job_state") != "Q"}
    code, sentence = _what_it_waits_for(replace(status, jobs=jobs), cluster, Ledger(), job_id)
    return sentence if code in _NEVER else ""


def planned_limits_of(cluster: ClusterView, status: ServerStatus, horizon_s: float) -> list[LimitsFrom]:
    """The limits that planned quotas bring until so far ahead."""
    modes, now_s = read_modes(status, cluster.settings), cluster.now_s
    return planned_limits(status, modes, cluster.passes.quota_plan, now_s, now_s + horizon_s)


def _shown(estimate: Estimate | None, cluster: ClusterView) -> Estimate | None:
    """The estimate without the id of a job that the server does not show this user."""
    if estimate is None or not estimate.after:
        return estimate
    jobs = cluster.server_status.jobs
    if estimate.after in jobs or parent_of(estimate.after) in jobs:
        return estimate
    return estimate._replace(after=HIDDEN)
