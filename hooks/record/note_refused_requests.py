"""Writes down what PBS has refused a pass, which the next passes go by: requeues of victims, and starts of jobs."""

from __future__ import annotations

from hooks.act.apply_plan import Outcome
from hooks.checkpoint.victims.victims_not_requeued import NOT_REQUEUED, with_new
from hooks.control.starts_refused import STARTS_REFUSED, with_new_refusals
from hooks.record.read_and_decided_in_pass import ServerRead
from hooks.store.state_files import State


def note_refused_requests(state: State, found: ServerRead, outcome: Outcome) -> None:
    """Write each of the two records anew where a pass has read or found something for it."""
    server_status = found.server_status
    if outcome.not_requeued or found.not_requeued:
        known = with_new(found.not_requeued, outcome.not_requeued, server_status)
        state.publish(NOT_REQUEUED, known, shared=False, sync=False)
    if outcome.refused or found.refused:
        refused = with_new_refusals(found.refused, outcome.refused, outcome.started, server_status.time_s)
        state.publish(STARTS_REFUSED, refused, shared=False, sync=False)
