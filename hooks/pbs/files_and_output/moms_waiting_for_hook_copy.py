"""PBS's own file of what it has still to send to MoMs: the scripts, settings and attributes (``enabled``) of hooks.

A MoM runs its own copy of a hook, and acts on a change only once it has been sent to it.
"""

from __future__ import annotations

from pathlib import Path

_MOST_DIGITS = 20
"""PBS numbers the changes by a ``long long``; Python refuses to read very long numbers."""


def read_tracking(pbs_home: Path) -> str:
    """The file's text; empty where there is none."""
    try:
        return (pbs_home / "server_priv" / "hooks" / "tracking.TR").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def find_waiting_moms(tracking: str) -> dict[str, tuple[str, ...]]:
    """The MoMs that do not have the present copy of a hook, by hook.

    PBS writes a line ``host:port hook action number`` whenever what is still to be sent to a MoM has changed; action 0
    means nothing is (its ``hook_track_save``). The file may have older entries beside the one that counts: the last
    line with the highest number.
    """
    actions: dict[tuple[str, str], tuple[int, str]] = {}
    for line in tracking.splitlines():
        words = line.split()
        if len(words) == 4 and words[3].isdecimal() and len(words[3]) <= _MOST_DIGITS:
            key, number = (words[1], words[0].rpartition(":")[0]), int(words[3])
            if number >= actions.get(key, (0, ""))[0]:
                actions[key] = (number, words[2])
    waiting: dict[str, list[str]] = {}
    for (hook, mom), (_, action) in actions.items():
        if action != "0":
            waiting.setdefault(hook, []).append(mom)
    return {hook: tuple(sorted(moms)) for hook, moms in waiting.items()}
