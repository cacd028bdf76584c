"""Why a job waits, or where it stands: the policy's own explanation of it, as lines and as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hooks.pbs.job_ids import parent_of
from policy.explain.explanation import Explanation, explain
from policy.explain.hostfiles import Lists, lists_of
from tui.state.cluster_view import World
from tui.state.mode_words import why_undone
from tui.state.paused import pause_of
from tui.text.lines import Line, safe, wrap

LABEL = 22
"""How many cells the labels of an explanation take."""


def explanation_of(world: World, job_id: str) -> Explanation | None:
    """The explanation by the world's plan; None before there is one."""
    if world.decision is None:
        return None
    undone = why_undone(world, _queue_of(world, job_id), preemption=False)
    return explain(world.decision.snapshot, world.decision.plan, job_id, world.settings, undone)


def lists_of_job(world: World, job_id: str) -> Mapping[str, Lists]:
    """Where a job runs or would start in a pass made now, as programs read it; by subjob for an array, empty for a job
    that waits. Raises ValueError for a name that would break a line."""
    return {} if world.decision is None else lists_of(world.decision.plan, job_id)


def explain_lines(world: World, job_id: str, cells: int) -> list[Line]:
    """What the plan says about a job, a label in front of each part."""
    explanation = explanation_of(world, job_id)
    if explanation is None:
        return [(("the first plan is being made", "dim"),)]
    told = [line for label, text in explanation.lines for line in labelled(label, text, cells, "title")]
    return [*told, *_unacted(world, job_id, explanation, cells), *_put_off(world, job_id, explanation, cells)]


def _unacted(world: World, job_id: str, explanation: Explanation, cells: int) -> list[Line]:
    """That a pause, or the mode of the job's queue, leaves undone what the plan has for it, and for all that wait."""
    if explanation.state in ("running", "unknown") or (explanation.reason and explanation.reason.code == "left-undone"):
        return []
    if explanation.state == "waiting":
        return labelled("but", pause_of(world), cells)
    return labelled(
        "but", why_undone(world, _queue_of(world, job_id), preemption=explanation.state == "preempted"), cells
    )


def _queue_of(world: World, job_id: str) -> str:
    return world.picture.jobs.get(job_id, {}).get("queue", "")


def _put_off(world: World, job_id: str, explanation: Explanation, cells: int) -> list[Line]:
    """That the last pass had planned the job's start too, and no time left for it."""
    last = world.passes.last
    unstarted = last.texts("unstarted") if last is not None and explanation.state == "starting" else []
    if job_id not in [each for unstarted_id in unstarted for each in (unstarted_id, parent_of(unstarted_id))]:
        return []
    told = "the last pass planned its start too and put it off, as its time was up (pbsteer hooks status says why)"
    return labelled("but", told, cells)


def labelled(label: str, text: str, cells: int, role: str = "dim") -> list[Line]:
    """A label and a text, wrapped beside it; nothing for an empty text."""
    if not text:
        return []
    parts = wrap(safe(text), cells - LABEL)
    return [((f"{'' if index else label:<{LABEL}}", role), (part, "")) for index, part in enumerate(parts)]


def explanation_data(world: World, job_id: str) -> dict[str, Any]:
    """The explanation as plain data."""
    explanation = explanation_of(world, job_id)
    return {} if explanation is None else explanation.as_json()
