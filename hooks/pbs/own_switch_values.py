"""How a pass switches a scheduler, or one of two hooks, on and off: in a form that PBS accepts and no person is
likely to use.

That form distinguishes a pass from an administrator in PBS's log and in requests, as both may be root.
"""

from __future__ import annotations

import re

OWN_SWITCHES = ("y", "n")
"""The values for on and off."""
START_HOOK = "pbsteer_runjob"
"""The hook of starts."""
END_HOOK = "pbsteer_execjob_epilogue"
"""The hook at a job's end. Passes switch these two and no other."""
_VALUE = f"[{''.join(OWN_SWITCHES)}]"
_OWN_SWITCH = re.compile(
    rf"unset server scheduling|set sched (?:\S+ )?scheduling = {_VALUE}"
    rf"|set hook (?:{START_HOOK}|{END_HOOK}) enabled = {_VALUE}"
)


def is_own_switch(command: str) -> bool:
    """Whether a request of root, in qmgr's words, is a pass's switch. PBS's log leaves the scheduler's name out."""
    return _OWN_SWITCH.fullmatch(command) is not None
