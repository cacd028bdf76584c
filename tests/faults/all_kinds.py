"""All kinds of fault: whoever imports this has them in the register."""

from __future__ import annotations

from tests.faults import (
    kinds_costly_selects,
    kinds_daemons,
    kinds_disk_clock_lock,
    kinds_exceptions_and_failed_writes,
    kinds_kills_during_preemption,
    kinds_passes,
    kinds_people,
    kinds_saving,
)
from tests.faults.registry import KINDS

MODULES = (
    kinds_passes,
    kinds_exceptions_and_failed_writes,
    kinds_disk_clock_lock,
    kinds_daemons,
    kinds_kills_during_preemption,
    kinds_people,
    kinds_saving,
    kinds_costly_selects,
)
"""Where they are."""

__all__ = ["KINDS", "MODULES"]
