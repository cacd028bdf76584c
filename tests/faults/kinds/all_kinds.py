"""All kinds of fault: importing this module registers them."""

from __future__ import annotations

from tests.faults.kinds import (
    costly_selects,
    daemons,
    disk_clock_lock,
    exceptions_and_failed_writes,
    kills_during_preemption,
    passes,
    people,
    saving,
)
from tests.faults.kinds.registry import KINDS

MODULES = (
    passes,
    exceptions_and_failed_writes,
    disk_clock_lock,
    daemons,
    kills_during_preemption,
    people,
    saving,
    costly_selects,
)
"""Where they are."""

__all__ = ["KINDS", "MODULES"]
