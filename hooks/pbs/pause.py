"""Whether pbsteer is paused: by name, or by the switch with which administrators stop PBS's own scheduler.

In a pause no job is started and none is preempted, in any mode; passes go on to plan and to write down. The server's
``scheduling`` and that of its default scheduler are one value when they are set, and that is also what pbsteer switches
while it drives. So it switches by *unsetting* the server's: the scheduler is off then, and the server shows ``True``.
``False`` there is an administrator's word.
"""

from __future__ import annotations

from hooks.pbs.resources import PAUSED_ATTRIBUTE
from hooks.pbs.status import Picture

DEFAULT_SCHEDULER = "default"
"""The one whose ``scheduling`` is the server's."""

_LENGTH = 200


def is_stopped(picture: Picture) -> bool:
    """Whether the server's own ``scheduling`` says False."""
    return picture.server.get("scheduling", "") == "False"


def name_pause(picture: Picture, *, stopped: bool) -> str:
    """The pause and its reason in a few words, where there is one; ``stopped`` is one by the server's
    ``scheduling``."""
    reason = picture.server.get(PAUSED_ATTRIBUTE, "")
    if reason:
        return f"pbsteer is paused ({reason[:_LENGTH]})"
    return "pbsteer is paused by set server scheduling = False" if stopped else ""


def tell_pause(picture: Picture, *, stopped: bool) -> str:
    """The sentence on the pause, with what ends it."""
    named = name_pause(picture, stopped=stopped)
    if not named:
        return ""
    end = "pbsteer resume" if picture.server.get(PAUSED_ATTRIBUTE, "") else "set server scheduling = True"
    return f"{named}: it starts and preempts nothing until {end}"
