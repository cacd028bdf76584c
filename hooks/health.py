"""How the hooks are doing, and what of it needs somebody's attention: the judgement behind ``pbsteer hooks status``.

Everything is given: what is in the server, PBS's own account of which MoMs still wait for a copy, the last pass as it
was published, and the lines of the server's log that our hooks wrote.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hooks.bundle import digest_of, source_digest, version_of
from hooks.events import HOOK_EVENTS, attributes_of
from hooks.installed import Hook, Installed, read_applied
from policy.settings import Settings

_LATE_INTERVALS = 3
_FRESH_ERROR_S = 3600.0
_LOG_TIME = "%m/%d/%Y %H:%M:%S"


class HookHealth(NamedTuple):
    """One hook. ``digest`` and ``version`` are its script's own; ``waiting`` are the MoMs without the present copy;
    ``faults`` are sentences."""

    name: str
    enabled: bool
    version: str
    digest: str
    waiting: tuple[str, ...]
    faults: tuple[str, ...]


class Health(NamedTuple):
    """All of it. ``last_pass`` is empty before the first; ``errors`` are lines of the server's log; ``attention`` says
    in sentences what is not as it should be, and is empty where all is well."""

    hooks: tuple[HookHealth, ...]
    last_pass: Mapping[str, Any]
    errors: tuple[str, ...]
    attention: tuple[str, ...]


def check_health(
    installed: Installed,
    names: Mapping[str, str],
    tracking: str,
    entry: Mapping[str, Any],
    errors: Sequence[str],
    now_s: float,
) -> Health:
    """``names``: our hooks with their events; ``tracking``: PBS's own file of that name; ``entry``: the last pass."""
    waiting = find_waiting_moms(tracking)
    settings = read_applied(installed)
    hooks = tuple(
        _check_hook(name, event, installed.hooks.get(name), waiting.get(name, ()), settings)
        for name, event in names.items()
    )
    attention = [f"{hook.name}: {fault}" for hook in hooks for fault in hook.faults]
    if installed.hooks:
        attention += _check_pass(entry, settings or Settings(), now_s)
    fresh = [line for line in errors if now_s - _log_time_s(line) < _FRESH_ERROR_S]
    if fresh:
        attention.append(f"{len(fresh)} of the errors in the server's log are less than an hour old")
    return Health(hooks, entry, tuple(errors), tuple(attention))


def find_waiting_moms(tracking: str) -> dict[str, tuple[str, ...]]:
    """Which MoMs do not have the present copy of a hook, by hook.

    PBS writes a line ``host:port hook action number`` whenever what is still to be sent to a MoM has changed; action 0
    is nothing (its ``hook_track_save``). It may have older entries beside the one that counts, which has the highest
    number, and of that the last line.
    """
    actions: dict[tuple[str, str], tuple[int, str]] = {}
    for line in tracking.splitlines():
        words = line.split()
        if len(words) == 4 and words[3].isdecimal():
            key, number = (words[1], words[0].rpartition(":")[0]), int(words[3])
            if number >= actions.get(key, (0, ""))[0]:
                actions[key] = (number, words[2])
    waiting: dict[str, list[str]] = {}
    for (hook, mom), (_, action) in actions.items():
        if action != "0":
            waiting.setdefault(hook, []).append(mom)
    return {hook: tuple(sorted(moms)) for hook, moms in waiting.items()}


def _check_hook(
    name: str, event: str, hook: Hook | None, waiting: tuple[str, ...], settings: Settings | None
) -> HookHealth:
    if hook is None:
        return HookHealth(name, enabled=False, version="", digest="", waiting=(), faults=("is not there",))
    digest = digest_of(hook.script or "")
    faults = [] if hook.enabled else ["is DISABLED"]
    if digest != source_digest():
        faults.append(f"is {digest or 'not ours'}, not this version, which is {source_digest()}")
    if settings is not None and hook.event == event:
        faults += [
            f"{key} is {hook.attributes.get(key, 'not set')}, where {right} belongs"
            for key, right in attributes_of(event, settings).items()
            if key != "enabled" and hook.attributes.get(key) != right
        ]
    waiting = waiting if HOOK_EVENTS[event].on_moms else ()
    if waiting:
        shown = ", ".join(waiting[:5]) + (" ..." if len(waiting) > 5 else "")
        faults.append(f"{len(waiting)} MoMs have an old copy or none ({shown}); PBS sends it once it reaches them")
    return HookHealth(name, hook.enabled, version_of(hook.script or ""), digest, waiting, tuple(faults))


def _check_pass(entry: Mapping[str, Any], settings: Settings, now_s: float) -> list[str]:
    if not entry:
        return ["no pass has been seen yet"]
    schedule = settings.schedule
    age_s = now_s - float(entry.get("time_s", 0.0))
    found = []
    if age_s > _LATE_INTERVALS * schedule.interval_s + schedule.budget_s:
        found.append(f"the last pass was {age_s:.0f} s ago, where one is due every {schedule.interval_s} s")
    acted = entry.get("acted", ())
    found += [
        f"queue {queue} is in drive, and is not driven"
        for queue, mode in sorted(entry.get("modes", {}).items())
        if mode == "drive" and queue not in acted
    ]
    sentences = [*entry.get("notes", ()), *entry.get("failures", ())]
    if sentences:
        found.append(f"the last pass has {len(sentences)} remarks, see below")
    return found


def _log_time_s(line: str) -> float:
    """When a line of PBS's log was written; long ago for one that does not say."""
    try:
        return time.mktime(time.strptime(line.partition(";")[0].partition(".")[0], _LOG_TIME))
    except (ValueError, OverflowError):
        return float("-inf")
