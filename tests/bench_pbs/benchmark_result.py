"""A figure as it is reported: what was measured, in which unit, over how many, and what was asked for."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

HEADING = f"  {'':<66} {'measured':>10} {'':<5} {'at most':>9}"


class Figure(NamedTuple):
    """``name`` says what, ``value`` how much, ``asked`` the most that is wanted, None where nothing was asked."""

    name: str
    value: float
    unit: str
    asked: float | None = None
    note: str = ""

    def line(self) -> str:
        """One line of the report, below :data:`HEADING`."""
        asked = "" if self.asked is None else f"{self.asked:g} {self.unit}"
        missed = "MISSED" if self.is_missed else ""
        line = f"  {self.name:<66} {self.value:>10.3f} {self.unit:<5} {asked:>9}  {missed:<6}  {self.note}"
        return line.rstrip()

    @property
    def is_missed(self) -> bool:
        """Whether it is more than was asked for."""
        return self.asked is not None and self.value > self.asked

    def data(self) -> dict[str, Any]:
        """The figure as plain data."""
        return dict(self._asdict())


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return percentile(values, 50)


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def machine() -> str:
    """What was measured on: cores, and how busy they were."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
