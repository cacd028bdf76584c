"""All kinds of fault: importing this module registers them."""

from __future__ import annotations

from tests.faults.kinds import (
    costly_selects,
    disk_clock_lock,
    exceptions_and_failed_writes,
    failed_saves,
    killed_hanging_or_refused_passes,
    killed_or_cut_off_daemons,
    kills_during_preemption,
    promises_under_hard_limits,
    users_interfere_during_preemption,
)
from tests.faults.kinds.registry import KINDS

MODULES = (
    killed_hanging_or_refused_passes,
    exceptions_and_failed_writes,
    disk_clock_lock,
    killed_or_cut_off_daemons,
    kills_during_preemption,
    users_interfere_during_preemption,
    failed_saves,
    costly_selects,
    promises_under_hard_limits,
)
"""Where they are."""

__all__ = ["KINDS", "MODULES"]
