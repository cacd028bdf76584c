"""What PBS is told about each of our hooks besides its script: when it fires, how long it may take, after whom.

One row for each event that a hook of ours may handle. The attributes are texts, as ``qmgr -c "list hook"`` shows them,
so that what is there and what shall be compare as they are. Source: Administrator's Guide, "Hook Attributes".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from policy.settings.site_settings import Settings

ATTRIBUTES = ("alarm", "freq", "order", "user", "fail_action", "debug", "enabled")
"""The attributes of a hook that deploying looks after."""

CREATED: Mapping[str, str] = {"order": "1", "user": "pbsadmin", "fail_action": "none", "debug": "false"}
"""What a new hook has of them where its creator says nothing."""

_LONGEST_FREQ_S = 9999
"""PBS refuses 10000 and more for a periodic hook."""

_AFTER_THE_SITES_OWN = "900"


class HookEvent(NamedTuple):
    """What the hook of an event is for, how long it may hold things up, its place among other hooks of the event, and
    whether MoMs run it, each from its own copy."""

    purpose: str
    alarm_s: int = 10
    order: str = "1"
    on_moms: bool = False


HOOK_EVENTS: Mapping[str, HookEvent] = {
    "queuejob": HookEvent(
        "a submission: refuses what can never run, sets the shrunk estimate and the stripe", order=_AFTER_THE_SITES_OWN
    ),
    "modifyjob": HookEvent("an alteration: keeps users from undoing what was set", order=_AFTER_THE_SITES_OWN),
    "resvsub": HookEvent("a reservation: a user's stays within the user's quotas", order=_AFTER_THE_SITES_OWN),
    "runjob": HookEvent("a start, whoever asks for it: guards capacity", order=_AFTER_THE_SITES_OWN),
    "periodic": HookEvent("the pass: reads, decides, acts where the mode says so, and records"),
    "exechost_periodic": HookEvent("on each MoM: reports load, free memory, network and temperature", on_moms=True),
    "execjob_epilogue": HookEvent(
        # It waits for a server that is away, for a job that saved itself. Cut off on a busy host, it would leave such a
        # job ended for good.
        "on each MoM: brings back a job that saved itself and ended",
        alarm_s=120,
        on_moms=True,
    ),
}
"""Our events. Those that may change a job see what the site's own hooks made of it, so they come after them."""


def attributes_of(event: str, settings: Settings) -> dict[str, str]:
    """The attributes that the hook of an event shall have."""
    alarm_s = HOOK_EVENTS[event].alarm_s
    freq_s = 0
    if event == "periodic":
        schedule = settings.schedule
        freq_s = schedule.interval_s
        # A process that is late for the end of its interval makes the next pass itself (hooks/control/early_pass.py).
        # Where reading took all of the budget, a pass still decides and acts (hooks/control/decision_deadline.py), and
        # needs a little more for what it began.
        alarm_s = max(2 * freq_s - 1, math.ceil(1.75 * schedule.budget_s) + 5)
    elif event == "exechost_periodic":
        freq_s = min(math.ceil(settings.ranking.interval_s), _LONGEST_FREQ_S)
    attributes = {**CREATED, "alarm": str(alarm_s), "order": HOOK_EVENTS[event].order, "enabled": "true"}
    return {**attributes, "freq": str(freq_s)} if freq_s else attributes
