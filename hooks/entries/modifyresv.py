"""A reservation is altered: afterwards it must still be within the bounds of a submission, and users leave alone how it
recurs, in every mode.

The whole server waits for this hook, so it reads no file but its settings, and the present reservation only if the
alteration is long.
"""

from __future__ import annotations

from typing import Any

from hooks.admission.texts.overlong_reservation_texts import refuse_reservation_beyond_bounds
from hooks.admission.texts.recurrence_set_by_pbs import refuse_altered_recurrence
from hooks.store.hook_settings import read_config


def handle(pbs: Any) -> str | None:
    """Judge the alteration of this event."""
    event = pbs.event()
    submission = read_config(pbs.hook_config_filename).submission
    excess = refuse_reservation_beyond_bounds(event.resv, submission, event.resv_o)
    return excess or refuse_altered_recurrence(pbs, event.resv) or None
