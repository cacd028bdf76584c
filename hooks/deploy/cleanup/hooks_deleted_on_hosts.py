"""Waits until PBS has deleted our hooks on all hosts: until then MoMs run them, and report values of our resources.

Where a MoM reports a value of a resource that the server no longer has, the server creates that resource again.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from hooks.pbs.files_and_output.moms_waiting_for_hook_copy import find_waiting_moms, read_tracking

_AT_MOST_S = 60.0
_NO_ANSWER_S = 5.0
"""Hosts answer within a moment. Where none has answered for so long, those that are left are down."""
_BETWEEN_READS_S = 0.2


def await_deleted_on_hosts(pbs_home: Path, hooks: Collection[str]) -> tuple[str, ...]:
    """Wait until PBS has deleted the ``hooks`` on all hosts, or no host answers; returns those that did not answer."""
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
