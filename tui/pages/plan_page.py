"""The plan page: what this pass would do, each action with its reason, and why the waiting jobs wait."""

from __future__ import annotations

from policy.model.cluster import Job
from policy.plan.plan import Wait
from tui.model.typed_attributes import short_id, some_of
from tui.pages.pass_page import would_have
from tui.state.cluster_view import ClusterView, Decision
from tui.state.mode_words import is_done
from tui.text.durations import clock_time, short_span
from tui.text.lines import Line, safe

_MODES = {
    "observe": "observe: nothing of this is carried out",
    "advise": "advise: PBS's scheduler starts jobs, pbsteer only preempts and sets estimates",
    "drive": "drive: the next pass carries this out",
}
_MOST_JOBS = 6
_A_MINUTE_S = 60.0


def plan_lines(cluster: ClusterView) -> list[Line]:
    """The whole page; a single line until the first plan is made."""
    decision = cluster.decision
    if decision is None:
        return [(("the first plan is being made", "dim"),)]
    modes = [f"{queue} is in {_MODES.get(mode, mode)}" for queue, mode in sorted(cluster.modes.items())]
    would = would_have(cluster.passes)
    lines: list[Line] = [
        ((f"decided here at {clock_time(decision.snapshot.time_s, seconds=True)} in {decision.cost_s:.2f} s", "bold"),),
        *(((safe(line), "dim"),) for line in modes),
        *([would] if would else []),
        *([((safe(f"passes: {cluster.passes.problem}"), "warn"),)] if cluster.passes.problem else []),
        (),
    ]
    starts, preempts = is_done(cluster, "", preemption=False), is_done(cluster, "", preemption=True)
    for title, part in (
        ("starts" if starts else "would start", _starts(decision, cluster.now_s)),
        ("preempts" if preempts else "would preempt", _preempts(decision, cluster.now_s)),
        ("reserves", _estimates(decision, cluster.now_s)),
        ("leaves alone", waiting_lines(decision, cluster.now_s)),
        ("cannot read", [((safe(problem), "warn"),) for problem in decision.problems]),
    ):
        if part or title != "cannot read":
            lines += [((title, "title"),), *(_indented(line) for line in part or [(("nothing", "dim"),)]), ()]
    return lines


def _indented(line: Line) -> Line:
    return (("  ", ""), *line)


def _starts(decision: Decision, now_s: float) -> list[Line]:
    return [
        (
            (safe(short_id(start.id)), "good"),
            (f" {safe(start.job.user)} {start.job.cores:,}c on {safe(some_of(start.allocation.vnodes))}", ""),
            (" backfilled" if start.backfilled else "", "dim"),
            (f" {safe(start.why.sentence(start.job, now_s))}" if start.why is not None else "", "dim"),
        )
        for start in decision.plan.starts
    ]


def _preempts(decision: Decision, now_s: float) -> list[Line]:
    return [
        (
            (safe(short_id(preempt.id)), "warn"),
            (f" {safe(preempt.run.job.user)} {preempt.run.job.cores:,}c ", ""),
            (safe(preempt.reason.sentence(preempt.run.job, now_s)), ""),
        )
        for preempt in decision.plan.preempts
    ]


def _estimates(decision: Decision, now_s: float) -> list[Line]:
    lines: list[Line] = []
    for estimate in decision.plan.estimates:
        text = f" at {clock_time(estimate.at_s)}, in {short_span(estimate.at_s - now_s)}"
        if abs(estimate.promised_s - estimate.at_s) >= _A_MINUTE_S:
            text += f"; first promised {clock_time(estimate.promised_s)}"
        lines.append(((safe(short_id(estimate.id)), "bold"), (text, "")))
    return lines


def waiting_lines(decision: Decision, now_s: float) -> list[Line]:
    """For each reason its first jobs, and the sentence for all of them, or for the first if sentences may differ."""
    lines: list[Line] = []
    for wait in decision.plan.waits:
        shown, more = wait.jobs[:_MOST_JOBS], len(wait.jobs) - _MOST_JOBS
        ids = [safe(short_id(job.id)) for job in shown]
        told = [_sentence(decision, wait, job, now_s) for job in shown]
        of_all = more <= 0 and len(set(told)) == 1
        which = "" if of_all else f", of which {ids[0]}"
        lines.append(
            (
                (f"{' '.join(ids)}{f' and {more:,} more' if more > 0 else ''}{which}: ", "bold"),
                (safe(told[0]), ""),
            )
        )
    return lines


def _sentence(decision: Decision, wait: Wait, job: Job, now_s: float) -> str:
    """The reason for one of its jobs. Jobs differ in cores, users and estimates, so their sentences may differ too."""
    longest = decision.longest
    return wait.reason.sentence(job, now_s, {} if longest is None else longest.numbers(job, wait.reason))
