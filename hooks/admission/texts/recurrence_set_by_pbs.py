"""What users do not set of how a reservation recurs, or when PBS tries it again: PBS's server writes it, but takes it
from users as well, and its scheduler and ``pbs_rstat`` go by it without a check."""

from __future__ import annotations

from typing import Any

from hooks.pbs.managers_and_operators import may_manage

_COUNTED = ("reserve_count", "reserve_index", "reserve_execvnodes", "reserve_retry")
_OF_SUBMISSION = ("reserve_rrule", "reserve_standing", "reserve_timezone")


def find_set_count(reservation: Any) -> str:
    """Why an event's reservation is to be refused to users; empty if it sets nothing that PBS counts by itself."""
    name = _find_set(reservation, _COUNTED)
    return f"its {name} is set by PBS alone" if name else ""


def refuse_altered_recurrence(pbs: Any, reservation: Any) -> str:
    """Why an event's alteration of a reservation is refused; empty if it leaves alone how the reservation recurs, and
    for managers and operators."""
    name = _find_set(reservation, (*_COUNTED, *_OF_SUBMISSION))
    return f"its {name} can not be altered: make a new reservation" if name and not may_manage(pbs) else ""


def _find_set(reservation: Any, names: tuple[str, ...]) -> str:
    return next((name for name in names if getattr(reservation, name, None) is not None), "")
