"""The rows and columns of the plan: parts that fold (what starts, is preempted, is reserved, and waits for which
reason), and the jobs in each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from policy.model.pbs_units import show_job
from tui.model.typed_attributes import amount, seconds, user_of
from tui.state.cluster_view import ClusterView, Decision
from tui.state.wording_by_queue_mode import preemptions_in, starts_in, titles_of
from tui.tables.columns import Column
from tui.tables.columns_by_view.job_columns import elapsed_of
from tui.tables.columns_by_view.planned_job_outcome import outcome_of
from tui.tables.columns_by_view.reason_in_short import group_title
from tui.text.name_ranges import few_names
from tui.text.screen_line import Line, plain, safe
from tui.text.times_and_durations import clock_time, short_span, show_hms

_RESERVES, _WAITS = "reserves", "leaves waiting"
_A_MINUTE_S = 60.0


class PlanKey(NamedTuple):
    """A row: a part of the plan (``verb``, and for what waits the ``code`` of its reason), or one job in it."""

    verb: str
    code: str = ""
    job_id: str = ""

    @property
    def part(self) -> PlanKey:
        """The row of the part that the job is in."""
        return self._replace(job_id="")


Parts = dict[PlanKey, list[str]]
"""The ids of the jobs in each part, in the order of the plan."""


def parts_of(cluster: ClusterView) -> Parts:
    """The parts of the plan, those with most waiting jobs first among what waits; empty before the first plan."""
    decision = cluster.decision
    if decision is None:
        return {}
    plan = decision.plan
    found: Parts = {}
    starting = dict.fromkeys((start.job.queue, start.job.id) for start in plan.starts)
    for title, ids in titles_of(cluster, "start", starts_in, starting).items():
        found[PlanKey(title)] = ids
    going = [(preempt.run.job.queue, preempt.id) for preempt in plan.preempts]
    for title, ids in titles_of(cluster, "preempt", preemptions_in, going).items():
        found[PlanKey(title)] = ids
    found[PlanKey(_RESERVES)] = [estimate.id for estimate in plan.estimates]
    waiting: dict[str, list[str]] = {}
    for wait in plan.waits:
        waiting.setdefault(wait.reason.code, []).extend(job.id for job in wait.jobs)
    for code, ids in sorted(waiting.items(), key=lambda item: -len(item[1])):
        found[PlanKey(_WAITS, code)] = ids
    return found


def is_open_at_first(part: PlanKey) -> bool:
    """Whether a part's jobs are shown until it is folded: what happens is, what waits is not."""
    return part.verb != _WAITS


def plan_keys(parts: Parts, turned: set[PlanKey]) -> list[PlanKey]:
    """The rows; ``turned`` are the parts that were unfolded, or folded where they are open at first."""
    rows: list[PlanKey] = []
    for part, ids in parts.items():
        rows.append(part)
        if is_open_at_first(part) != (part in turned):
            rows += [part._replace(job_id=job_id) for job_id in ids]
    return rows


def plan_columns(cluster: ClusterView, parts: Parts, rows: Sequence[PlanKey]) -> list[Column[PlanKey]]:
    """The columns over the rows; ``rows`` says which parts are unfolded."""
    opened = {key.part for key in rows if key.job_id}
    cores_name = f"Resource_List.{cluster.counted}"

    def cores(key: PlanKey) -> int:
        ids = (key.job_id,) if key.job_id else parts.get(key, ())
        return sum(amount(cluster.job(job_id) or {}, cores_name) for job_id in ids)

    def what(key: PlanKey) -> Line:
        if key.job_id:
            return ((f"    {safe(show_job(key.job_id))}", ""),)
        mark = " " if not parts.get(key) else "▾" if key in opened else "▸"
        return ((f"{mark} {key.verb}", "title"),)

    def jobs(key: PlanKey) -> Line:
        return ((f"{len(parts.get(key, ())):,}", "bold"),) if not key.job_id else ()

    def user(key: PlanKey) -> str:
        return user_of(cluster.job(key.job_id) or {}) if key.job_id else ""

    def queue(key: PlanKey) -> str:
        return (cluster.job(key.job_id) or {}).get("queue", "") if key.job_id else ""

    def walltime(key: PlanKey) -> float | None:
        return seconds(cluster.job(key.job_id) or {}, "Resource_List.walltime") if key.job_id else None

    def since(key: PlanKey) -> float | None:
        return elapsed_of(cluster, key.job_id) if key.job_id else None

    def show_since(key: PlanKey) -> Line:
        since_s = since(key)
        return () if since_s is None else ((short_span(since_s), ""),)

    def why(key: PlanKey) -> Line:
        return _why_job(cluster, key) if key.job_id else _why_part(parts, key)

    def text(of: Callable[[PlanKey], str]) -> Callable[[PlanKey], Line]:
        return lambda key: ((safe(of(key)), ""),)

    return [
        Column(
            "plan",
            "the next pass",
            18,
            lambda key: show_job(key.job_id) or f"{key.verb} {key.code}".strip(),
            what,
            most=28,
            names=True,
        ),
        Column("jobs", "jobs", 5, lambda key: len(parts.get(key, ())) or None, jobs, ">", 1),
        Column("user", "user", 6, user, text(user), most=32, names=True),
        Column("queue", "queue", 6, queue, text(queue), rank=4, most=24),
        Column("cores", cluster.counted, 7, cores, lambda key: ((f"{cores(key):,}", ""),) if cores(key) else (), ">"),
        Column(
            "walltime",
            "walltime",
            9,
            walltime,
            lambda key: ((show_hms(walltime(key)), ""),) if key.job_id else (),
            ">",
            3,
        ),
        Column("since", "time", 6, since, show_since, ">", 2),
        Column("why", "why", 0, lambda key: plain(why(key)), why),
    ]


def _why_part(parts: Parts, key: PlanKey) -> Line:
    if not parts.get(key):
        return (("nothing", "dim"),)
    return ((group_title(key.code), "bold"),) if key.code else ()


def _why_job(cluster: ClusterView, key: PlanKey) -> Line:
    decision = cluster.decision
    if decision is None:
        return ()
    start, preempt = decision.starts.get(key.job_id), decision.preempts.get(key.job_id)
    if key.verb == _RESERVES:
        return _reserved(decision, key.job_id, cluster.now_s)
    if key.code:
        return outcome_of(cluster, key.job_id, briefly=True)
    if start is not None:
        why = f" · {start.why.sentence(start.job, cluster.now_s)}" if start.why is not None else ""
        how = "backfilled, " if start.backfilled else ""
        return ((f"{how}on {safe(few_names(start.allocation.vnodes))}", "good"), (safe(why), "dim"))
    if preempt is not None:
        return ((safe(preempt.reason.sentence(preempt.run.job, cluster.now_s)), "warn"),)
    return ()


def _reserved(decision: Decision, job_id: str, now_s: float) -> Line:
    estimate = next((each for each in decision.plan.estimates if each.id == job_id), None)
    if estimate is None:
        return ()
    text = f"at {clock_time(estimate.at_s)}, in {short_span(estimate.at_s - now_s)}"
    if abs(estimate.promised_s - estimate.at_s) >= _A_MINUTE_S:
        text += f"; first promised {clock_time(estimate.promised_s)}"
    return ((text, ""),)
