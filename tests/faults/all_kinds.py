"""All kinds of fault: whoever imports this has them in the register."""

from __future__ import annotations

from tests.faults import (
    kinds_costly_requests,
    kinds_daemons,
    kinds_disk_clock_lock,
    kinds_errors,
    kinds_passes,
    kinds_people,
    kinds_saving,
    kinds_victims,
)
from tests.faults.registry import KINDS

MODULES = (
    kinds_passes,
    kinds_errors,
    kinds_disk_clock_lock,
    kinds_daemons,
    kinds_victims,
    kinds_people,
    kinds_saving,
    kinds_costly_requests,
)
"""Where they are."""

__all__ = ["KINDS", "MODULES"]
