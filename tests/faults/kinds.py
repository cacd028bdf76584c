"""All kinds of fault: whoever imports this has them in the register."""

from __future__ import annotations

from tests.faults import (
    kinds_daemons,
    kinds_errors,
    kinds_passes,
    kinds_people,
    kinds_places,
    kinds_requests,
    kinds_saving,
    kinds_victims,
)
from tests.faults.registry import KINDS

MODULES = (
    kinds_passes,
    kinds_errors,
    kinds_places,
    kinds_daemons,
    kinds_victims,
    kinds_people,
    kinds_saving,
    kinds_requests,
)
"""Where they are."""

__all__ = ["KINDS", "MODULES"]
