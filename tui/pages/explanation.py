"""Why a job waits or what is planned for it: the policy's own explanation, as lines and as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.pbs.job_ids import parent_of
from policy.explain.explanation import Explanation, explain
from policy.explain.hostfiles import Lists, lists_of
from tui.state.cluster_view import ClusterView
from tui.state.mode_words import why_undone
from tui.state.paused import pause_of
from tui.text.lines import Line, safe, wrap

LABEL = 22
"""The width of the labels, in cells."""


def explanation_of(cluster: ClusterView, job_id: str) -> Explanation | None:
    """The explanation by the console's plan; None before there is one."""
    if cluster.decision is None:
        return None
    undone = why_undone(cluster, _queue_of(cluster, job_id), preemption=False)
    return explain(cluster.decision.snapshot, cluster.decision.plan, job_id, cluster.settings, undone)


def lists_of_job(cluster: ClusterView, job_id: str) -> Mapping[str, Lists]:
    """The job's hosts and vnodes, now or if started by a pass made now, as lists for programs; by subjob for an array,
    empty for a waiting job. Raises ValueError for a name that would break a line."""
    return {} if cluster.decision is None else lists_of(cluster.decision.plan, job_id)


def explain_lines(cluster: ClusterView, job_id: str, cells: int) -> list[Line]:
    """The plan's explanation of a job as labelled lines."""
    explanation = explanation_of(cluster, job_id)
    if explanation is None:
        return [(("the first plan is being made", "dim"),)]
    told = [line for label, text in explanation.lines for line in labelled(label, text, cells, "title")]
    return [*told, *_unacted(cluster, job_id, explanation, cells), *_put_off(cluster, job_id, explanation, cells)]


def _unacted(cluster: ClusterView, job_id: str, explanation: Explanation, cells: int) -> list[Line]:
    """A line if a pause or the queue's mode leaves the plan undone; for a waiting job only a pause counts."""
    if explanation.state in ("running", "unknown") or (explanation.reason and explanation.reason.code == "left-undone"):
        return []
    if explanation.state == "waiting":
        return labelled("but", pause_of(cluster), cells)
    return labelled(
        "but", why_undone(cluster, _queue_of(cluster, job_id), preemption=explanation.state == "preempted"), cells
    )


def _queue_of(cluster: ClusterView, job_id: str) -> str:
    return cluster.server_status.jobs.get(job_id, {}).get("queue", "")


def _put_off(cluster: ClusterView, job_id: str, explanation: Explanation, cells: int) -> list[Line]:
    """A line if the last pass had planned the job's start too but ran out of time for it."""
    last = cluster.passes.last
    unstarted = last.texts("unstarted") if last is not None and explanation.state == "starting" else []
    if job_id not in [each for unstarted_id in unstarted for each in (unstarted_id, parent_of(unstarted_id))]:
        return []
    told = "the last pass planned its start too and put it off, as its time was up (pbsteer hooks status says why)"
    return labelled("but", told, cells)


def labelled(label: str, text: str, cells: int, role: str = "dim") -> list[Line]:
    """A label and a text wrapped beside it; no line for an empty text."""
    if not text:
        return []
    parts = wrap(safe(text), cells - LABEL)
    return [((f"{'' if index else label:<{LABEL}}", role), (part, "")) for index, part in enumerate(parts)]


def explanation_data(cluster: ClusterView, job_id: str) -> dict[str, Any]:
    """The explanation as plain data; empty before the first plan."""
    explanation = explanation_of(cluster, job_id)
    return {} if explanation is None else explanation.as_json()
