"""Refuses a job or a reservation with a time so far ahead that it has no date, in every mode.

PBS takes times of 18 digits. Its server ends as it writes that of a reservation into its log, and ``qstat -f`` of any
user as it shows that of a job.
"""

from __future__ import annotations

from typing import Any

from hooks.pbs.job_attributes.job_ids_and_states import LATEST_S
from hooks.pbs.job_attributes.read_resource_list_value import read_value

_LONGEST_S = 1e10
"""317 years: the end of what begins now still has a date."""
_OF_RESERVATIONS = {
    "reserve_start": ("start", LATEST_S),
    "reserve_end": ("end", LATEST_S),
    "reserve_duration": ("duration", _LONGEST_S),
}


def refuse_far_start(job: Any) -> str:
    """Why an event's job is refused; empty if it has no start time beyond all dates."""
    return _refuse("start time (-a)", getattr(job, "Execution_Time", None), LATEST_S)


def refuse_far_reservation(reservation: Any) -> str:
    """Why an event's reservation is refused; empty if no time of it is beyond all dates."""
    times = [(what, getattr(reservation, name, None), most_s) for name, (what, most_s) in _OF_RESERVATIONS.items()]
    times.append(("walltime", read_value(reservation.Resource_List, "walltime"), _LONGEST_S))
    return next(filter(None, (_refuse(*each) for each in times)), "")


def read_event_seconds(value: Any) -> float:
    """Seconds from the types that PBS's events have, a number or ``hours:minutes:seconds``; 0 for any other."""
    total = 0.0
    for part in ("" if value is None else str(value)).split(":"):
        if not (part.isascii() and part.isdigit()):
            return 0.0
        total = 60 * total + float(part)
    return total


def _refuse(what: str, value: Any, most_s: float) -> str:
    if read_event_seconds(value) <= most_s:
        return ""
    return f"its {what} is {str(value)[:40]}; allowed are {most_s:,.0f} seconds, as later times have no date"
