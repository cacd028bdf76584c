"""A reservation is altered: with what changes in it, it must still be within the bounds of a submission.

Everything in the server waits for this. It reads no file but its settings, and looks at the reservation as it was only
where the alteration is long. The bounds hold in every mode and for all.
"""

from __future__ import annotations

from typing import Any

from hooks.admission.overlong_reservation_texts import refuse_reservation_beyond_bounds
from hooks.store.hook_settings import read_config


def handle(pbs: Any) -> str | None:
    """Judge the alteration of this event."""
    event = pbs.event()
    submission = read_config(pbs.hook_config_filename).submission
    return refuse_reservation_beyond_bounds(event.resv, submission, event.resv_o) or None
