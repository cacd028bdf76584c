"""Why a job waits or what is planned for it, as lines and as data: by this console's plan, and by the last pass.

The pass decides; the console's plan is made on what the server shows now, and may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from hooks.pbs.job_attributes.job_comment_format import refusal_in, show_moment, without_counts
from hooks.pbs.job_attributes.job_ids_and_states import parent_of
from hooks.record.job_reasons import LONGEST_TEXT
from policy.explain.explanation_lines_beside_reason import LabelledLine
from policy.explain.hostfiles_for_mpi_and_openmp import Lists, lists_of
from policy.explain.job_explanation import Explanation, explain
from policy.model.printable_text import printable
from tui.backends.pass_journal import PassReason
from tui.forecast.when_it_starts import when_known
from tui.model.reservation_of_queue import SCHEDULER_STARTS, reservation_of
from tui.state.cluster_view import ClusterView
from tui.state.pbsteer_pause import pause_of
from tui.state.wording_by_queue_mode import Wording, preemptions_in, starts_in
from tui.text.screen_line import Line, safe, wrap
from tui.text.times_and_durations import clock_time

IN_RESERVATION = "in-reservation"
"""The state of an explanation beside those of the policy, which knows no jobs of reservations."""
LABEL = 22
"""The width of the labels, in cells."""


def explanation_of(cluster: ClusterView, job_id: str) -> Explanation | None:
    """The explanation by the console's plan, or for a job in a reservation, about which no plan decides, by that; None
    before there is a plan."""
    if cluster.decision is None:
        return None
    queue = _queue_of(cluster, job_id)
    reservation = reservation_of(cluster.server_status, queue)
    if reservation is not None:
        text = f"it is in {reservation.describe(cluster.now_s)}: {SCHEDULER_STARTS}"
        return Explanation(job_id, IN_RESERVATION, (LabelledLine("reservation", text),), None, None, cluster.now_s)
    undone = starts_in(cluster, queue).undone
    explanation = explain(cluster.decision.snapshot, cluster.decision.plan, job_id, cluster.settings, undone)
    return _worded(explanation, preemptions_in(cluster, queue))


def _worded(explanation: Explanation, wording: Wording) -> Explanation:
    """With preemptions in the conditional, if they are not carried out in the job's queue."""
    if not wording.undone or explanation.state not in ("preempting", "preempted"):
        return explanation
    labels = {label: wording.may_be(label) for label in ("preempted", "victim")}
    return explanation._replace(
        lines=tuple(
            line._replace(text=wording.of_plan(line.text))
            if line.label == "waits for"
            else line._replace(label=labels.get(line.label, line.label))
            for line in explanation.lines
        )
    )


def lists_of_job(cluster: ClusterView, job_id: str) -> Mapping[str, Lists]:
    """The job's hosts and vnodes, now or if started by a pass made now, as lists for programs; by subjob for an array,
    empty for a waiting job. Raises ValueError for a name that would break a line."""
    return {} if cluster.decision is None else lists_of(cluster.decision.plan, job_id)


class Explained(NamedTuple):
    """The explanation of a job as labelled lines: the ``answer``, why it waits or where it runs and what would change
    that, and its ``standing``, its quotas, its class and what happened to it before."""

    answer: list[Line]
    standing: list[Line]


_ABOUT_IT = frozenset({"quota", "class", "history", "work"})
_ON_TOP = frozenset({"job", "waited", "runs"})
"""What the first lines of the page have anyway."""


def explain_lines(cluster: ClusterView, job_id: str, cells: int) -> Explained:
    """The explanation of a job: the console's plan, and the reason of the last pass beside it."""
    explanation = explanation_of(cluster, job_id)
    if explanation is None:
        return Explained([(("the first plan is being made", "dim"),)], [])
    found = Explained([], [])
    for label, text in _with_both(explanation, cluster.passes.reasons.of(explanation.job_id)):
        if label not in _ON_TOP:
            lines = found.standing if label in _ABOUT_IT else found.answer
            lines += labelled(label, text, cells, "title")
    found.answer.extend(_unacted(cluster, job_id, explanation, cells))
    found.answer.extend(_put_off(cluster, job_id, explanation, cells))
    found.answer.extend(refused_lines(cluster, job_id, cells))
    return found


_WAITS = "waits for"
_ANSWERS = (_WAITS, "starts", "would start")
"""The labels of what the console's plan has for a waiting job."""


def _with_both(explanation: Explanation, of_pass: PassReason | None) -> list[tuple[str, str]]:
    """The explanation's lines, where the first line about the plan says which plan it is: the pass's and the console's
    in one line if they agree, else one line of each, the pass's first."""
    lines = [(label, text) for label, text in explanation.lines]
    waits = explanation.job is not None and explanation.state in ("waiting", "preempting", "starting")
    labels = [label for label, _ in lines]
    label = next((label for label in _ANSWERS if label in labels), "")
    if of_pass is None or not waits or not label:
        return lines
    at = labels.index(label)
    pass_at, plan_at = (clock_time(time_s, seconds=True) for time_s in (of_pass.time_s, explanation.time_s))
    by_pass, by_plan, text = f"the pass of {pass_at}", f"this console's plan of {plan_at}", lines[at][1]
    if _agrees(explanation, of_pass):
        return [*lines[:at], (label, f"By {by_pass} and {by_plan}: {text}"), *lines[at + 1 :]]
    both = [(_WAITS, f"By {by_pass}: {_text_of(of_pass)}"), (label, f"By {by_plan}: {text}")]
    return [*lines[:at], *both, *lines[at + 1 :]]


def _agrees(explanation: Explanation, of_pass: PassReason) -> bool:
    """Whether the console's plan has the same reason, but for counts that other jobs move all the time."""
    reason, job = explanation.reason, explanation.job
    if reason is None or job is None or reason.code != of_pass.code:
        return False
    moment = partial(show_moment, now_s=explanation.time_s)
    own = printable(reason.sentence(job, explanation.time_s, moment=moment)[:LONGEST_TEXT])
    return not of_pass.text or without_counts(own) == without_counts(of_pass.text)


def _text_of(of_pass: PassReason) -> str:
    return of_pass.text or f"{of_pass.code} (the pass wrote down no more)"


def _unacted(cluster: ClusterView, job_id: str, explanation: Explanation, cells: int) -> list[Line]:
    """A line if a pause or the queue's mode leaves the plan undone; for a waiting job of which no start is shown only a
    pause counts."""
    if explanation.state in ("running", "unknown", IN_RESERVATION) or (
        explanation.reason and explanation.reason.code == "left-undone"
    ):
        return []
    is_reserved = explanation.reason is not None and explanation.reason.code == "reserved"
    if explanation.state == "waiting" and not is_reserved and when_known(cluster, job_id) is None:
        return labelled("but", pause_of(cluster), cells)
    wording = preemptions_in if explanation.state == "preempted" else starts_in
    return labelled("but", wording(cluster, _queue_of(cluster, job_id)).undone, cells)


def _queue_of(cluster: ClusterView, job_id: str) -> str:
    return cluster.server_status.jobs.get(job_id, {}).get("queue", "")


def _put_off(cluster: ClusterView, job_id: str, explanation: Explanation, cells: int) -> list[Line]:
    """A line if the last pass had planned the job's start too but ran out of time for it."""
    last = cluster.passes.last
    unstarted = last.texts("unstarted") if last is not None and explanation.state == "starting" else []
    if job_id not in [each for unstarted_id in unstarted for each in (unstarted_id, parent_of(unstarted_id))]:
        return []
    postponed = "the last pass planned its start too and put it off, as its time was up (pbsteer hooks status says why)"
    return labelled("but", postponed, cells)


def refused_lines(cluster: ClusterView, job_id: str, cells: int) -> list[Line]:
    """A line if PBS refused the job's last start and nothing was found out about the job since."""
    why = refusal_in((cluster.job(job_id) or {}).get("comment", ""))
    return labelled("but", f"PBS refused its last start: {why}; the start is tried again" if why else "", cells)


def labelled(label: str, text: str, cells: int, role: str = "dim") -> list[Line]:
    """A label and a text wrapped beside it; no line for an empty text."""
    if not text:
        return []
    parts = wrap(safe(text), cells - LABEL)
    return [((f"{'' if index else label:<{LABEL}}", role), (part, "")) for index, part in enumerate(parts)]


def explanation_data(cluster: ClusterView, job_id: str) -> dict[str, Any]:
    """The explanation as plain data, empty before the first plan. ``by_console`` and ``by_pass``: the reason by the
    console's plan and by the last pass, each with its time; None where that has none. ``agree``: whether both have the
    same one."""
    explanation = explanation_of(cluster, job_id)
    if explanation is None:
        return {}
    data, of_pass = explanation.as_json(), cluster.passes.reasons.of(explanation.job_id)
    own = data["reason"]
    return {
        **data,
        "by_pass": None
        if of_pass is None
        else {"time_s": of_pass.time_s, "code": of_pass.code, "sentence": of_pass.text},
        "by_console": own and {"time_s": explanation.time_s, "code": own["code"], "sentence": own["sentence"]},
        "agree": of_pass is not None and _agrees(explanation, of_pass),
    }
