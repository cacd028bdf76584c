"""Remembers which arrays a runjob event found unaltered, so that starts of other subjobs do not read them again.

The server's interpreter keeps the modules of hooks from one event to the next, for all hooks alike, so the modifyjob
hook can drop what is remembered. What else changes an array (``qmove``, ``qorder``) shows in the subjob's own digest,
but for a hold and for whether it may be checkpointed, which are noticed after a second at the latest.
"""

from __future__ import annotations

import time

_KEPT_S = 1.0
_found: dict[tuple[str, str, str, float], float] = {}
"""When an array was found as planned, by its id, the digest of the subjob that started, that of the plan, and when the
pass read the server."""


def is_found_unaltered(array: str, subjob: str, planned: str, planned_s: float) -> bool:
    """Whether the array was found as planned, by the same pass and with an equal ``subjob``, a moment ago. ``subjob``
    and ``planned`` are digests."""
    found_s = _found.get((array, subjob, planned, planned_s))
    return found_s is not None and 0 <= time.monotonic() - found_s < _KEPT_S


def note_unaltered(array: str, subjob: str, planned: str, planned_s: float) -> None:
    """Remember that the array has just been found as planned; those of earlier passes are dropped."""
    if any(read_s != planned_s for *_, read_s in _found):
        _found.clear()
    _found[array, subjob, planned, planned_s] = time.monotonic()


def forget_arrays() -> None:
    """Drop what is remembered, as a job is about to be altered."""
    _found.clear()
