"""Walltimes as passes count with them.

PBS takes one of 18 digits from any user, and the end of such a run has no date: it counts as the longest one here.
"""

from __future__ import annotations

from functools import lru_cache

from policy.model.pbs_units import parse_duration_s

_LONGEST_S = 1e10
"""In seconds: 317 years."""


@lru_cache(maxsize=8192)
def read_walltime_s(text: str) -> float:
    """A walltime in seconds. Raises :class:`policy.model.pbs_units.UnitError`."""
    return min(float(parse_duration_s(text)), _LONGEST_S)
