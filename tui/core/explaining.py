"""Why a job waits, as lines: the plan's reason, and what else was tried for it."""

from __future__ import annotations

from typing import Any

from tui.core.lines import Line, plain, safe, wrap
from tui.core.outcomes import outcome_of
from tui.core.world import World

_LABEL = 12


def explain_lines(world: World, job_id: str, cells: int) -> list[Line]:
    """What the plan says about a job, a label in front of each part."""
    found = world.decision.reasons.get(job_id) if world.decision else None
    if found is None:
        return [(("outcome     ", "dim"), *outcome_of(world, job_id))]
    job, reason = found
    parts = [("waits", reason.sentence(job, world.now_s))]
    parts += [("tried", tried.sentence(job, world.now_s)) for tried in reason.tried]
    lines: list[Line] = []
    last = ""
    for label, sentence in parts:
        for index, part in enumerate(wrap(safe(sentence), cells - _LABEL)):
            shown = label if index == 0 and label != last else ""
            lines.append(((f"{shown:<{_LABEL}}", "title"), (part, "")))
        last = label
    return lines


def explanation_data(world: World, job_id: str) -> dict[str, Any]:
    """The same as plain data: ``outcome`` is ``waits``, ``starts``, ``preempted`` or ``runs``."""
    decision = world.decision
    data: dict[str, Any] = {"job": job_id, "outcome": "runs", "sentence": plain(outcome_of(world, job_id))}
    if decision is None:
        return data
    if job_id in decision.preempts:
        return {**data, "outcome": "preempted"}
    if job_id in decision.starts:
        return {**data, "outcome": "starts"}
    found = decision.reasons.get(job_id)
    if found is None:
        return data
    job, reason = found
    return {**data, "outcome": "waits", "reason": reason.as_json(job, world.now_s)}
