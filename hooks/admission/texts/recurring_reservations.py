"""Refuses users' reservations that recur so often, or for so long, that PBS's server or its scheduler would come to a
standstill, or in no time zone, in every mode.

``pbs_rsub`` always names a time zone. Without one PBS's server finds no occurrence, and its scheduler one that has
begun, which it confirms again and again: each time the server takes the cores once more, and keeps all but those of the
last until it is restarted.
"""

from __future__ import annotations

import time
from typing import Any

from hooks.admission.texts.recurrence_limits import find_costly_recurrence
from hooks.admission.texts.recurrence_set_by_pbs import find_set_count
from hooks.admission.texts.times_without_date import read_event_seconds
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.managers_and_operators import may_manage

_NO_ZONE = "its reserve_rrule needs a reserve_timezone, such as Europe/Berlin (PBS_TZID)"


def refuse_costly_recurrence(pbs: Any, reservation: Any) -> str:
    """Why an event's new reservation is refused; empty if it recurs within the bounds, and for managers and
    operators."""
    refusal = find_set_count(reservation)
    rule = read_attribute(reservation, "reserve_rrule")
    if rule and not refusal:
        start_s = read_event_seconds(getattr(reservation, "reserve_start", None)) or time.time()
        refusal = find_costly_recurrence(rule, start_s)
        refusal = refusal or ("" if read_attribute(reservation, "reserve_timezone") else _NO_ZONE)
    return refusal if refusal and not may_manage(pbs) else ""
