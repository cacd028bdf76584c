"""What needs an administrator's attention: one line for each thing, with a link to where it is seen whole.

The lines are about pbsteer (a pause, hooks that fail, unreadable data), queues and vnodes that are out of use,
reservations that run degraded, jobs that wait for victims, run past their walltime or leave cores idle, and quotas.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hooks.deploy.health.hook_health import describe_future_pass
from hooks.pbs.custom_resources import PAUSED_ATTRIBUTE
from hooks.translate.closures.reservations import is_running
from policy.eligibility.soft_quotas import Quotas
from policy.explain.preemptible_by_quota import PreemptibleByQuota
from policy.model.limit_attributes import EntityKey
from policy.model.pbs_units import show_count, show_job
from tui.model.job_efficiency import shares_of
from tui.model.overcommitted_quotas import overcommitted
from tui.model.reservation_of_queue import reservation_of
from tui.model.typed_attributes import amount, moment, state_in_words, user_of, vnodes_of
from tui.pages.link_target_type import PLAN, Link
from tui.state.cluster_view import ClusterView, execution_queues
from tui.state.pbsteer_pause import is_paused_by_scheduling
from tui.state.typed_quota_scope_and_resource import quota_scopes, scope_of
from tui.state.wording_by_queue_mode import preemptions_in
from tui.tables.columns_by_view.quota_rows_and_columns import QuotaRow, rows_over_quota, show_name
from tui.tables.columns_by_view.reservation_columns import DEGRADED, state_of
from tui.tables.columns_by_view.vnode_columns import ids_on
from tui.tables.filter_line import quoted
from tui.text.name_ranges import folded_names
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import day_and_time, short_span

_MOST_USERS = 3
_MOST_VNODES = 6
_MOST_NOTES = 4
_LATE_PASSES = 2
"""A last pass is reported as late if it began longer ago than so many intervals and the time that it took."""


class Need(NamedTuple):
    """Something to look at, and where to do so."""

    line: Line
    link: Link = PLAN

    @property
    def is_grave(self) -> bool:
        """Whether something is broken, not only unusual."""
        return any(role == "bad" for _, role in self.line)


def attention(cluster: ClusterView) -> list[Line]:
    """A line for each problem, the worst first; empty if there is none."""
    return [need.line for need in needs(cluster, also=_over_quota)]


def needs(cluster: ClusterView, also: Callable[[ClusterView], list[Need]] | None = None) -> list[Need]:
    """The needs, the worst first; entries over quota, which are mostly normal, only with ``also``."""
    found = [
        *_pause(cluster),
        *[Need(((safe(fault), "bad"),)) for fault in cluster.hook_faults],
        *_passes(cluster),
        *_vnodes(cluster),
        *_queues(cluster),
        *_reservations(cluster),
        *_problems(cluster),
        *_held(cluster),
        *_past_walltime(cluster),
        *_idle_jobs(cluster),
        *_overcommitted(cluster),
    ]
    return [*found, *(also(cluster) if also is not None else [])]


def _pause(cluster: ClusterView) -> list[Need]:
    """A pause with a reason; shown even before a pass has seen it."""
    reason = cluster.server_status.server.get(PAUSED_ATTRIBUTE, "")
    also = " and set server scheduling = True end" if is_paused_by_scheduling(cluster) else " ends"
    return [Need((("paused", "bad"), (safe(f": {reason}; pbsteer resume{also} it"), "")))] if reason else []


def _passes(cluster: ClusterView) -> list[Need]:
    """The failures and notes of the last pass, but for a pause that has its own line; and whether that was long ago."""
    last = cluster.passes.last
    if last is None:
        return []
    lines: list[Line] = []
    age_s = cluster.now_s - last.time_s
    interval_s = cluster.settings.schedule.interval_s
    if age_s > _LATE_PASSES * interval_s + sum(last.seconds().values()):
        words = f" of the hooks for {short_span(age_s)}, one is due every {short_span(interval_s)}"
        lines.append((("no pass", "bad"), (f"{words}: pbsteer hooks status says why", "")))
    elif -age_s > _LATE_PASSES * interval_s:
        lines.append(((describe_future_pass(-age_s), "bad"),))
    has_line = bool(cluster.server_status.server.get(PAUSED_ATTRIBUTE))
    notes = [text for text in last.texts("notes") if not (has_line and text == last.data.get("paused"))]
    sentences = [*((text, "bad") for text in last.texts("failures")), *((text, "warn") for text in notes)]
    lines += [((safe(text), role),) for text, role in sentences[:_MOST_NOTES]]
    if len(sentences) > _MOST_NOTES:
        lines.append(((f"and {len(sentences) - _MOST_NOTES:,} more: in the plan view, left", "dim"),))
    return [Need(line) for line in lines]


_OFFLINE = "offline by "
"""The beginning of the comment that `offline` writes: the line says the state already."""


def _vnodes(cluster: ClusterView) -> list[Need]:
    """Vnodes that are not up; those that left in the same minute with the same state share a line."""
    if not cluster.server_status.vnodes:
        return [Need((("the server has no vnodes", "bad"), (": no job can start", "")), Link("vnodes"))]
    groups: dict[tuple[str, float], list[str]] = defaultdict(list)
    for names in cluster.counts.vnodes.not_up.values():
        for name in names:
            vnode = cluster.server_status.vnodes[name]
            since_s = moment(vnode, "last_state_change_time") or 0.0
            groups[state_in_words(vnode, cluster.counted), since_s // 60 * 60].append(name)
    found: list[Need] = []
    for (state, since_s), names in sorted(groups.items(), key=lambda item: ("down" not in item[0][0], -len(item[1]))):
        comment = cluster.server_status.vnodes[names[0]].get("comment", "") if len(names) == 1 else ""
        line: Line = (
            (f"{safe(folded_names(names))} ", ""),
            (safe(state), "bad" if "down" in state else "warn"),
            (f" since {day_and_time(since_s, cluster.now_s)}" if since_s else "", ""),
            (_jobs_there(cluster, names, "lost" if "down" in state else "left"), ""),
            (f": {safe(comment.removeprefix(_OFFLINE))}" if comment else "", "dim"),
        )
        found.append(Need(line, _to_vnodes(names)))
    more = len(found) - _MOST_VNODES
    if more > 0:
        rest: Line = ((f"and {more:,} more groups of vnodes", "dim"),)
        return [*found[:_MOST_VNODES], Need(rest, Link("vnodes", filter="state:down|offline"))]
    return found


_MOST_NAMES = 100
"""Most vnodes in one filter, which has to stay readable."""


def _jobs_there(cluster: ClusterView, names: Sequence[str], which: str) -> str:
    jobs = {job_id for name in names for job_id in ids_on(cluster, name)}
    return f", {show_count(len(jobs), 'job')} {which}" if jobs else ""


def _to_vnodes(names: Sequence[str]) -> Link:
    some = tuple(names[:_MOST_NAMES])
    return Link("vnodes", filter="vnode:=" + "|".join(map(quoted, some)), kind="vnode", names=some)


def _held(cluster: ClusterView) -> list[Need]:
    """The earmarks: which job gets the cores of which victims, and how many of these pbsteer holds. Jobs of queues in
    observe mode are left out, since no victim is preempted for them."""
    found: list[Need] = []
    acted_for = [
        (beneficiary, hold)
        for beneficiary, hold in cluster.ledger.earmarks.items()
        if cluster.modes.get(cluster.server_status.jobs.get(beneficiary, {}).get("queue", "")) != "observe"
    ]
    for beneficiary, hold in acted_for[:_MOST_NOTES]:
        held = [
            victim for victim in hold.victims if "s" in cluster.server_status.jobs.get(victim, {}).get("Hold_Types", "")
        ]
        victims = " ".join(safe(show_job(victim)) for victim in hold.victims)
        line: Line = (
            (f"{safe(show_job(beneficiary))} ", "bold"),
            (f"gets the cores of {victims}, preempted {day_and_time(hold.since_s, cluster.now_s)}", ""),
            (f"; {_are_held(len(held))} until it starts" if held else "", "warn"),
        )
        found.append(Need(line, Link("job", subject=beneficiary, kind="job", names=(beneficiary,))))
    return found


def _are_held(victims: int) -> str:
    return f"{victims:,} of them {'is' if victims == 1 else 'are'} held by pbsteer"


def _queues(cluster: ClusterView) -> list[Need]:
    """Queues that are stopped while jobs wait there; that of a reservation is, until the reservation begins."""
    found: list[Need] = []
    for name in execution_queues(cluster):
        if reservation_of(cluster.server_status, name) is not None:
            continue
        queue = cluster.server_status.queues[name]
        waiting = cluster.counts.queue_states[name]["Q"] if name in cluster.counts.queue_states else 0
        if queue.get("started", "True").lower() != "true" and waiting:
            wait = f", {show_count(waiting, 'job')} {'waits' if waiting == 1 else 'wait'} in it"
            line: Line = ((f"queue {safe(name)} is ", ""), ("stopped", "warn"), (wait, ""))
            found.append(Need(line, Link("queues", cursor=name, kind="queue", names=(name,))))
    return found


def _reservations(cluster: ClusterView) -> list[Need]:
    """Reservations that run without some of their vnodes, and those of these that are not up."""
    down = {name for names in cluster.counts.vnodes.not_up.values() for name in names}
    found: list[Need] = []
    for name, texts in cluster.server_status.reservations.items():
        if is_running(texts) and state_of(texts).endswith(DEGRADED):
            vnodes = [each for each in vnodes_of(texts.get("resv_nodes", "")) if each in down]
            without = f", without {safe(folded_names(vnodes))}" if vnodes else ""
            line: Line = ((f"reservation {safe(name.partition('.')[0])} runs ", ""), (DEGRADED, "warn"), (without, ""))
            found.append(Need(line, Link("reservations", cursor=name)))
    return found


_LEAST_IDLE = 16
"""Idle cores that one user's jobs hold before that is worth a line."""


def _idle_jobs(cluster: ClusterView) -> list[Need]:
    """Users whose jobs hold many cores and use little of them: ``erin holds 256 cores at 12%: 4``."""
    found: dict[str, list[tuple[float, int, str]]] = defaultdict(list)
    for job_id in cluster.idle_jobs:
        attributes = cluster.server_status.jobs[job_id]
        idle = shares_of(attributes, cluster.use_of(job_id)).idle_cores
        found[user_of(attributes)].append((idle, amount(attributes, "Resource_List.ncpus"), job_id))
    needed: list[tuple[float, Need]] = []
    for user, jobs in found.items():
        idle, cores = sum(each[0] for each in jobs), sum(each[1] for each in jobs)
        if idle < _LEAST_IDLE:
            continue
        ids = [job_id for *_, job_id in sorted(jobs, reverse=True)]
        line: Line = (
            (f"{safe(user)} ", ""),
            (f"holds {show_count(cores, 'core')} at {100 * (1 - idle / cores):.0f}%", "warn"),
            (f": {'job' if len(ids) == 1 else 'jobs'} {_first_jobs(ids)}", ""),
        )
        one = Link("job", subject=ids[0], kind="job", names=(ids[0],))
        needed.append((idle, Need(line, one if len(ids) == 1 else _link_to(ids))))
    needed.sort(key=lambda item: -item[0])
    return [need for _, need in needed[:_MOST_NOTES]]


def _past_walltime(cluster: ClusterView) -> list[Need]:
    """Jobs whose walltime is over: those that the MoM has not ended, and those that do not come to their end."""
    running = _past_end(cluster.overdue_jobs, ("runs", "run"), ": their host has not ended them")
    hint = ": output or files are still being copied; qdel -W force ends it"
    return [*running, *_past_end(cluster.jobs_that_end_for_long, ("is ending", "are ending"), hint)]


def _past_end(over: Sequence[str], verbs: tuple[str, str], why: str) -> list[Need]:
    if not over:
        return []
    line: Line = (
        (f"{_first_jobs(over)} ", "bold"),
        (f"{verbs[len(over) != 1]} past the walltime", "bad"),
        (why, "dim"),
    )
    return [Need(line, _link_to(over))]


def _first_jobs(ids: Sequence[str]) -> str:
    """``12 14 17 and 3 more``."""
    more = f" and {len(ids) - _MOST_USERS:,} more" if len(ids) > _MOST_USERS else ""
    return safe(" ".join(map(show_job, ids[:_MOST_USERS]))) + more


def _link_to(ids: Sequence[str]) -> Link:
    """Where to look at these jobs, some of which may be subjobs."""
    names = tuple(ids[:_MOST_NAMES])
    return Link("jobs", filter="job:=" + "|".join(quoted(show_job(each)) for each in names), kind="job", names=names)


def _problems(cluster: ClusterView) -> list[Need]:
    problems = cluster.decision.problems if cluster.decision else ()
    if not problems:
        return []
    more = f" (and {len(problems) - 1:,} more)" if len(problems) > 1 else ""
    return [Need((("cannot read: ", "warn"), (safe(problems[0]) + more, "")))]


def _overcommitted(cluster: ClusterView) -> list[Need]:
    found: list[Need] = []
    for text in quota_scopes(cluster):
        scope = scope_of(cluster, text)
        lines = overcommitted(cluster.server_status, scope.queue, scope.resource)
        found += [Need(line, Link("quotas", subject=text)) for line in lines]
    return found


def _over_quota(cluster: ClusterView) -> list[Need]:
    found: list[Need] = []
    preemptible = preemptible_jobs(cluster)
    for text, over in rows_over_quota(cluster).items():
        scope = scope_of(cluster, text)
        where = f"in {safe(scope.place)}"
        unit = "" if scope.resource == cluster.counted else f" {safe(scope.resource)}"
        for row in over[:_MOST_USERS]:
            line: Line = (
                (f"{show_name(row.entity)} ", "bold"),
                (f"{row.use.cores:,} of {row.quota or 0:,}{unit} {where}", ""),
                (_preemptible(cluster, scope.queue, row, preemptible), "dim"),
            )
            found.append(Need(line, Link("quotas", subject=text, cursor=row.entity)))
        if len(over) > _MOST_USERS:
            rest: Line = ((f"and {len(over) - _MOST_USERS:,} more over quota{unit and f' of{unit}'} {where}", ""),)
            found.append(Need(rest, Link("quotas", subject=text)))
    return found


def _preemptible(
    cluster: ClusterView, queue: str, row: QuotaRow, preemptible: Mapping[tuple[str, EntityKey], int]
) -> str:
    """How many of the row's running jobs may be preempted, and how many could be where passes did so; in all queues if
    ``queue`` is empty."""
    jobs: Counter[str] = Counter()
    for each in [queue] if queue else execution_queues(cluster):
        jobs[preemptions_in(cluster, each).may_be("preemptible")] += preemptible.get((each, row.entity), 0)
    running = row.use.running
    if not any(jobs.values()):
        return f", {show_count(running, 'job')} {'runs' if running == 1 else 'run'}"
    first, *others = [(words, count) for words, count in sorted(jobs.items()) if count]
    also = "".join(f" and {count:,} {words}" for words, count in others)
    return f", {first[1]:,} of {show_count(running, 'running job')} {first[0]}{also}"


def preemptible_jobs(cluster: ClusterView) -> dict[tuple[str, EntityKey], int]:
    """The number of running jobs that a job within quota may preempt now, each by itself, by queue and by each user,
    group and project that counts them (docs/policies.md, P1). Empty if the settings do not preempt by quota."""
    settings = cluster.settings.quota
    if cluster.decision is None or not settings.preempt:
        return {}
    index, now_s = cluster.decision.snapshot.cluster(), cluster.decision.snapshot.time_s
    quotas = Quotas(index, settings.counted)
    preemptible = PreemptibleByQuota(index, quotas, cluster.ledger, settings, now_s)
    found: dict[tuple[str, EntityKey], int] = defaultdict(int)
    for run in index.runs.values():
        if preemptible.standing(run) is not None:
            entities = {("u", run.job.user), *(entry.entity for entry in quotas.bounds(run.job, run.allocation))}
            for entity in entities:
                found[run.job.queue, entity] += 1
    return found
