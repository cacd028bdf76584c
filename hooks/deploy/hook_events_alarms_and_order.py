"""PBS's attributes of each of our hooks: when it fires, how long it may take, its place in the order of hooks.

They are texts as ``qmgr -c "list hook"`` shows them, so that present and wanted ones compare as they are (PBS
Administrator's Guide, "Hook Attributes").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from policy.settings.settings_of_server_and_passes import ALWAYS
from policy.settings.site_settings import Settings

ATTRIBUTES = ("alarm", "freq", "order", "user", "fail_action", "debug", "enabled")
"""The attributes of a hook that deploying sets."""

CREATED: Mapping[str, str] = {"order": "1", "user": "pbsadmin", "fail_action": "none", "debug": "false"}
"""Their values in a new hook that was created without them."""

_LONGEST_FREQ_S = 9999
"""PBS refuses 10000 and more for a periodic hook."""

_LEAST_PASS_ALARM_S = 25
"""However short the interval and the budget, a pass has this long: on a busy host its process waits for seconds before
it is scheduled at all, and three passes that are cut off hand the queues back for ten minutes."""

_AFTER_THE_SITES_OWN = "900"


class HookEvent(NamedTuple):
    """The purpose of an event's hook, how long it may hold things up, its place among other hooks of the event, and
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
    "movejob": HookEvent(
        "a move to another queue: refused to users if it is at another server", order=_AFTER_THE_SITES_OWN
    ),
    "resvsub": HookEvent(
        "a reservation: refused beyond the bounds, and a user's beyond the user's quotas", order=_AFTER_THE_SITES_OWN
    ),
    "modifyresv": HookEvent("a reservation's alteration: refused beyond the bounds", order=_AFTER_THE_SITES_OWN),
    "runjob": HookEvent("a start by any requester: guards capacity", order=_AFTER_THE_SITES_OWN),
    "periodic": HookEvent("the pass: reads, decides, acts where the mode says so, and records"),
    "exechost_periodic": HookEvent("on each MoM: reports load, free memory, network and temperature", on_moms=True),
    "execjob_epilogue": HookEvent(
        # For a job that saved itself it waits for a server that is away. If it were cut off on a busy host, such a job
        # would have ended for good.
        "on each MoM: brings back a job that saved itself and ended",
        alarm_s=120,
        on_moms=True,
    ),
    "management": HookEvent("a manager's request on an object: records it in the audit", order=_AFTER_THE_SITES_OWN),
    # After a site's own and PBS's hook for control groups, so that the program is bound within what these leave.
    "execjob_launch": HookEvent(
        "on each MoM: hands a starting job the list of its sockets and cores", order=_AFTER_THE_SITES_OWN, on_moms=True
    ),
}
"""Our events. Hooks that may change a job come after the site's own, and so see what these made of it."""


def is_switched_by_passes(event: str, settings: Settings) -> bool:
    """Whether passes switch the hook of an event on and off (:mod:`hooks.control.switched_hooks.start_guard`,
    :mod:`hooks.control.switched_hooks.end_hook_switch`)."""
    setting = {"runjob": settings.server.guard_starts, "execjob_epilogue": settings.server.end_hook}
    return setting.get(event, ALWAYS) != ALWAYS


def attributes_of(event: str, settings: Settings) -> dict[str, str]:
    """The attributes that the hook of an event gets."""
    alarm_s = HOOK_EVENTS[event].alarm_s
    freq_s = 0
    if event == "periodic":
        schedule = settings.schedule
        freq_s = schedule.interval_s
        # A process that cannot end before its interval does makes the next pass itself (hooks/control/early_pass.py).
        # Where reading took all of the budget, a pass still decides and acts (hooks/control/decision_time_limit.py),
        # and needs a little more for what it began.
        alarm_s = max(2 * freq_s - 1, math.ceil(1.75 * schedule.budget_s) + 5, _LEAST_PASS_ALARM_S)
    elif event == "exechost_periodic":
        freq_s = min(math.ceil(settings.ranking.interval_s), _LONGEST_FREQ_S)
    attributes = {**CREATED, "alarm": str(alarm_s), "order": HOOK_EVENTS[event].order, "enabled": "true"}
    return {**attributes, "freq": str(freq_s)} if freq_s else attributes
