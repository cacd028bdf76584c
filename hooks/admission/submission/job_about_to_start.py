"""An alteration of a job whose start has been decided and is judged by no hook any more: it comes too late.

The pass reads such jobs again after it has said which ones it starts, so what was altered before is seen, and what is
altered after is refused (docs/hooks.md, "The guard of starts").
"""

from __future__ import annotations

from hooks.pbs.job_attributes.job_ids_and_states import is_array, parent_of
from hooks.store.event_hook_summary import Summary

_LONGEST_S, _BUDGETS = 60.0, 3
"""A pass says when it has ended. One that was killed counts as over after so many seconds, or of its budgets."""


def refuse_before_start(job_id: str, summary: Summary, now_s: float, budget_s: float) -> str | None:
    """Refuse the alteration of a waiting job or array that the last pass is about to start; None lets it through.
    ``budget_s``: the seconds that a pass may take."""
    if not summary.unguarded or not 0 <= now_s - summary.planned_s < max(_LONGEST_S, _BUDGETS * budget_s):
        return None
    planned = summary.planned
    if job_id in planned or (is_array(job_id) and any(parent_of(each) == job_id for each in planned)):
        return "the job is about to start: alter it in some seconds, if it still waits then"
    return None
