"""Whether pbsteer is paused: by ``pbsteer pause``, or by the server's ``scheduling``, which stops PBS's own scheduler.

During a pause no job is started and none preempted, in any mode; passes still plan and record. README.md has how the
``False`` of an administrator differs from what pbsteer sets.
"""

from __future__ import annotations

from hooks.pbs.custom_resources import PAUSED_ATTRIBUTE
from hooks.pbs.server_status_type_and_attributes import ServerStatus

_LENGTH = 200


def is_stopped(server_status: ServerStatus) -> bool:
    """Whether the server's own ``scheduling`` is False."""
    return server_status.server.get("scheduling", "") == "False"


def name_pause(server_status: ServerStatus, *, stopped: bool) -> str:
    """The pause and its reason in a few words; empty if there is none. ``stopped``: paused by the server's
    ``scheduling``."""
    reason = server_status.server.get(PAUSED_ATTRIBUTE, "")
    if reason:
        return f"pbsteer is paused ({reason[:_LENGTH]})"
    return "pbsteer is paused by set server scheduling = False" if stopped else ""


def describe_pause(server_status: ServerStatus, *, stopped: bool) -> str:
    """The sentence on the pause and on all that it takes to end it; empty if there is none."""
    named = name_pause(server_status, stopped=stopped)
    if not named:
        return ""
    ends = ["pbsteer resume"] if server_status.server.get(PAUSED_ATTRIBUTE, "") else []
    ends += ["set server scheduling = True"] if stopped else []
    return f"{named}: it starts and preempts nothing until {' and '.join(ends)}"
