"""Waits until the hosts have lost hooks that the server has deleted: until then they report values of our resources.

PBS creates a resource anew, for all vnodes, where a MoM's hook reports a value of one that the server no longer has.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from hooks.pbs.files_and_output.moms_waiting_for_hook_copy import find_waiting_moms, read_tracking

_AT_MOST_S = 60.0
_NO_ANSWER_S = 5.0
"""Hosts answer within a moment: where none has for so long, the ones that are left are down."""
_BETWEEN_READS_S = 0.2


def await_deleted_on_hosts(pbs_home: Path, hooks: Collection[str]) -> tuple[str, ...]:
    """Wait until PBS has to delete none of the ``hooks`` on a host any more; returns the hosts that did not answer."""
    now_s = time.monotonic()
    ends_s, asked_until_s = now_s + _AT_MOST_S, now_s + _NO_ANSWER_S
    waiting = _find_hosts(pbs_home, hooks)
    while waiting and time.monotonic() < min(ends_s, asked_until_s):
        time.sleep(_BETWEEN_READS_S)
        before, waiting = waiting, _find_hosts(pbs_home, hooks)
        if waiting != before:
            asked_until_s = time.monotonic() + _NO_ANSWER_S
    return waiting


def _find_hosts(pbs_home: Path, hooks: Collection[str]) -> tuple[str, ...]:
    waiting = find_waiting_moms(read_tracking(pbs_home))
    return tuple(sorted({mom for hook, moms in waiting.items() if hook in hooks for mom in moms}))
