"""The console's plan: what the next pass does or would do, each action with its reason, and why jobs wait.

It is a forecast, decided on the console's own server status. What passes have done is in their journal
(:mod:`tui.pages.pass_page`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.pbs_units import show_job
from policy.plan.plan_types import Preempt, Start, Wait
from tui.pages.pass_page import would_have
from tui.state.cluster_view import ClusterView, Decision
from tui.state.pause_state import pause_of
from tui.state.wording_by_queue_mode import Wording, preemptions_in, starts_in
from tui.text.name_ranges import few_names
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import clock_time, short_span

_MOST_JOBS = 6
_A_MINUTE_S = 60.0


def plan_lines(cluster: ClusterView) -> list[Line]:
    """The whole page; a single line until the first plan is made."""
    decision = cluster.decision
    if decision is None:
        return [(("the first plan is being made", "dim"),)]
    modes = [
        starts_in(cluster, queue).undone or f"{queue} is in {mode}: the next pass carries this out"
        for queue, mode in sorted(cluster.modes.items())
    ]
    would = would_have(cluster.passes)
    starts, preempts = decision.plan.starts, decision.plan.preempts
    lines: list[Line] = [
        ((f"the console's plan of {_time_of(decision)}, decided in {decision.cost_s:.2f} s", "bold"),),
        *(((safe(line), "dim"),) for line in dict.fromkeys(modes)),
        *([would] if would else []),
        *([((safe(f"passes: {cluster.passes.problem}"), "warn"),)] if cluster.passes.problem else []),
        (),
    ]
    titled: list[tuple[str, list[Line]]] = [
        *_parts(cluster, "start", starts_in, [(start.job.queue, _start(start, cluster.now_s)) for start in starts]),
        *_parts(
            cluster,
            "preempt",
            preemptions_in,
            [(preempt.run.job.queue, _preempt(preempt, cluster.now_s)) for preempt in preempts],
        ),
        ("reserves", _estimates(decision, cluster.now_s)),
        ("leaves waiting", waiting_lines(decision, cluster.now_s)),
        ("cannot read", [((safe(problem), "warn"),) for problem in decision.problems]),
    ]
    for title, part in titled:
        if part or title != "cannot read":
            lines += [((title, "title"),), *(_indented(line) for line in part or [(("nothing", "dim"),)]), ()]
    return lines


def _indented(line: Line) -> Line:
    return (("  ", ""), *line)


def _parts(
    cluster: ClusterView, verb: str, wording: Callable[[ClusterView, str], Wording], lines: list[tuple[str, Line]]
) -> list[tuple[str, list[Line]]]:
    """The lines of what is carried out, and those of what is not, each with its title; if there are no lines, one title
    for all queues."""
    titled: dict[str, list[Line]] = {}
    for queue, line in lines:
        titled.setdefault(wording(cluster, queue).does(verb), []).append(line)
    if not titled:
        forms = [wording(cluster, queue).does(verb) for queue in cluster.modes]
        titled[f"{verb}s" if f"{verb}s" in forms else f"would {verb}"] = []
    return sorted(titled.items())


def _start(start: Start, now_s: float) -> Line:
    return (
        (safe(show_job(start.id)), "good"),
        (f" {safe(start.job.user)} {start.job.cores:,}c on {safe(few_names(start.allocation.vnodes))}", ""),
        (" backfilled" if start.backfilled else "", "dim"),
        (f" {safe(start.why.sentence(start.job, now_s))}" if start.why is not None else "", "dim"),
    )


def _preempt(preempt: Preempt, now_s: float) -> Line:
    return (
        (safe(show_job(preempt.id)), "warn"),
        (f" {safe(preempt.run.job.user)} {preempt.run.job.cores:,}c ", ""),
        (safe(preempt.reason.sentence(preempt.run.job, now_s)), ""),
    )


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
    counts = Counter({title: 0 for title, _ in _parts(cluster, verb, wording, [])})
    for queue, jobs in Counter(queues).items():
        counts[wording(cluster, queue).does(verb)] += jobs
    shown = [f"{form} {jobs:,}" for form, jobs in sorted(counts.items()) if jobs or len(counts) == 1]
    return ", ".join(shown)


def _time_of(decision: Decision) -> str:
    return clock_time(decision.snapshot.time_s, seconds=True)


def _estimates(decision: Decision, now_s: float) -> list[Line]:
    lines: list[Line] = []
    for estimate in decision.plan.estimates:
        text = f" at {clock_time(estimate.at_s)}, in {short_span(estimate.at_s - now_s)}"
        if abs(estimate.promised_s - estimate.at_s) >= _A_MINUTE_S:
            text += f"; first promised {clock_time(estimate.promised_s)}"
        lines.append(((safe(show_job(estimate.id)), "bold"), (text, "")))
    return lines


def waiting_lines(decision: Decision, now_s: float) -> list[Line]:
    """For each reason its first jobs, and the sentence for all of them, or for the first if sentences may differ."""
    lines: list[Line] = []
    for wait in decision.plan.waits:
        shown, more = wait.jobs[:_MOST_JOBS], len(wait.jobs) - _MOST_JOBS
        ids = [safe(show_job(job.id)) for job in shown]
        sentences = [_sentence(decision, wait, job, now_s) for job in shown]
        of_all = more <= 0 and len(set(sentences)) == 1
        which = "" if of_all else f", of which {ids[0]}"
        lines.append(
            (
                (f"{' '.join(ids)}{f' and {more:,} more' if more > 0 else ''}{which}: ", "bold"),
                (safe(sentences[0]), ""),
            )
        )
    return lines


def _sentence(decision: Decision, wait: Wait, job: Job, now_s: float) -> str:
    """The reason for one of its jobs. Jobs differ in cores, users and estimates, so their sentences may differ too."""
    longest = decision.longest
    return wait.reason.sentence(job, now_s, {} if longest is None else longest.numbers(job, wait.reason))
