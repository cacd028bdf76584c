"""The console's plan in short: what the next pass does or would do, where that is carried out, and when it was made.

It is a forecast, decided on the console's own server status. What passes have done is in their journal
(:mod:`tui.pages.plan.pass_page`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from policy.model.pbs_units import show_job
from tui.pages.plan.pass_page import would_have
from tui.state.cluster_view import ClusterView, Decision
from tui.state.pbsteer_pause import pause_of
from tui.state.wording_by_queue_mode import Wording, preemptions_in, starts_in, titles_of
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import clock_time


def plan_notes(cluster: ClusterView) -> list[Line]:
    """Above the plan: when it was made, where it is carried out, what passes would have done, and what could not be
    read."""
    decision = cluster.decision
    if decision is None:
        return [(("the first plan is being made", "dim"),)]
    modes = [
        starts_in(cluster, queue).undone or f"{queue} is in {mode}: the next pass does this"
        for queue, mode in sorted(cluster.modes.items())
    ]
    would = would_have(cluster.passes)
    return [
        ((f"the console's plan of {_time_of(decision)}, decided in {decision.cost_s:.2f} s", "bold"),),
        *([would] if would else []),
        *([((safe(f"passes: {cluster.passes.problem}"), "warn"),)] if cluster.passes.problem else []),
        *(((f"cannot read: {safe(problem)}", "warn"),) for problem in decision.problems),
        *(((safe(line), "dim"),) for line in dict.fromkeys(modes)),
    ]


def plan_in_short(cluster: ClusterView) -> str:
    """The plan in one line: how many jobs start, how many of them are backfilled, and the first preemption."""
    decision = cluster.decision
    if decision is None:
        return "deciding"
    plan = decision.plan
    backfilled = sum(start.backfilled for start in plan.starts)
    starts = _counted(cluster, "start", starts_in, (start.job.queue for start in plan.starts))
    parts = [f"the console's plan of {_time_of(decision)} {starts}"]
    if backfilled:
        parts.append(f"of them backfilled {backfilled:,}")
    if plan.preempts:
        first = plan.preempts[0]
        victim = f"{safe(show_job(first.id))} {safe(first.run.job.user)} {first.run.job.cores:,}c"
        preempts = _counted(cluster, "preempt", preemptions_in, (preempt.run.job.queue for preempt in plan.preempts))
        parts.append(f"{preempts}: {victim}, for {safe(show_job(first.beneficiary))}")
    pause = pause_of(cluster)
    return " · ".join([*([safe(pause)] if pause else []), *parts])


def _counted(
    cluster: ClusterView, verb: str, wording: Callable[[ClusterView, str], Wording], queues: Iterable[str]
) -> str:
    """``starts 3, would start 21``: the jobs of queues where the plan is carried out, and the others."""
    counts = Counter(dict.fromkeys(titles_of(cluster, verb, wording, []), 0))
    for queue, jobs in Counter(queues).items():
        counts[wording(cluster, queue).does(verb)] += jobs
    shown = [f"{form} {jobs:,}" for form, jobs in sorted(counts.items()) if jobs]
    return ", ".join(shown) or f"{next(iter(counts))} nothing"


def _time_of(decision: Decision) -> str:
    return clock_time(decision.snapshot.time_s, seconds=True)
