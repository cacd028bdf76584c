"""The methods by which a preempted job saves its work, and the one that a job requests.

The epilogue hook loads this at each job's end, in a process of its own, so it imports next to nothing.
"""

from __future__ import annotations

from hooks.pbs.custom_resources_on_hosts import SAVE
from policy.model.save_method_names import SAVE_METHODS

# Not imported: typing takes longer to load than this module and all that it needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REQUEUE, SIGNAL, CHECKPOINT = SAVE_METHODS
SAVING = (SIGNAL, CHECKPOINT)
"""The methods that save work."""


def read_asked_method(job: Any) -> str:
    """The method that an event's job requests; empty if it has none or an unknown one."""
    try:
        asked_for = str(job.Resource_List[SAVE] or "")
    except Exception:  # noqa: BLE001 - how PBS says that it does not know a resource differs by version
        asked_for = ""
    return asked_for if asked_for in SAVE_METHODS else ""
