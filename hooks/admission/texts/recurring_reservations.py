"""Refuses users' reservations that recur so often, or for so long, that PBS's server or its scheduler would come to a
standstill, in every mode."""

from __future__ import annotations

import time
from typing import Any

from hooks.admission.texts.recurrence_limits import find_costly_recurrence
from hooks.admission.texts.recurrence_set_by_pbs import find_set_count
from hooks.admission.texts.times_without_date import read_event_seconds
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.managers_and_operators import may_manage


def refuse_costly_recurrence(pbs: Any, reservation: Any) -> str:
    """Why an event's new reservation is refused; empty if it recurs within the bounds, and for managers and
    operators."""
    refusal = find_set_count(reservation)
    rule = read_attribute(reservation, "reserve_rrule")
    if rule and not refusal:
        start_s = read_event_seconds(getattr(reservation, "reserve_start", None)) or time.time()
        refusal = find_costly_recurrence(rule, start_s)
    return refusal if refusal and not may_manage(pbs) else ""
