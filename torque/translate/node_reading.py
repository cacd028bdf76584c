"""What a MoM reports of its host, as a reading by which vnodes are ranked: idle processors and memory.

``loadave`` counts processes that run or wait, so what ``ncpus`` is above it is idle; ``availmem`` includes swap, so at
most the physical memory is left. Torque reports neither network bandwidth in use nor temperatures.
"""

from __future__ import annotations

import math

from hooks.telemetry.host_reading_format import Amount, HostReading
from torque.translate.nodes import read_report

_UNITS_KIB = {"kb": 1, "mb": 1 << 10, "gb": 1 << 20, "b": 1 / 1024}
_KIB_OF_A_MIB = 1024


def read_reading(status: str) -> str:
    """The reading in a node's ``status``, in the form of PBS's hosts; empty if its MoM has not reported."""
    report = read_report(status)
    time_s = _read_number(report.get("rectime", ""))
    if not time_s:
        return ""
    load, processors = _read_number(report.get("loadave", "")), _read_number(report.get("ncpus", ""))
    idle = max(0.0, 1 - load / processors) if load is not None and processors else None
    left, physical = _read_kib(report.get("availmem", "")), _read_kib(report.get("physmem", ""))
    memory = None
    if left is not None and physical:
        memory = Amount(min(left, physical) / _KIB_OF_A_MIB, physical / _KIB_OF_A_MIB)
    return HostReading(time_s, idle, memory).show()


def _read_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 1e12 else None


def _read_kib(text: str) -> float | None:
    number = _read_number(text.rstrip("bkmgBKMG"))
    unit = _UNITS_KIB.get(text.lstrip("0123456789.").lower())
    return None if number is None or unit is None else number * unit
