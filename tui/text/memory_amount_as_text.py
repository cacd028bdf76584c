"""Amounts of memory as text, in the unit that leaves few digits."""

from __future__ import annotations

_UNITS = ("KB", "MB", "GB", "TB", "PB")
_STEP = 1024


def in_bytes(kib: int) -> str:
    """``64 GB``, ``1.5 TB``: at most three digits, and a tenth where there is one digit before it."""
    size, unit = float(kib), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    digits = 1 if size < 10 and size != int(size) else 0
    return f"{size:.{digits}f} {_UNITS[unit]}"
