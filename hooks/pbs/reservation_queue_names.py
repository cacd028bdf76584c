"""The names of the queues that PBS makes for reservations.

Their jobs are the reservation's, and to what happens there no policy applies.
"""

from __future__ import annotations

import re

_RESERVATION_QUEUE = re.compile(r"[RSM][0-9]+")


def is_reservation_queue(name: str) -> bool:
    """Whether PBS made the queue for a reservation: ``R12``, ``S12``, ``M12``."""
    return _RESERVATION_QUEUE.fullmatch(name) is not None
