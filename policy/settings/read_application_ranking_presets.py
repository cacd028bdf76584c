"""Presets of applications: what ranks the vnodes of their jobs, and what these must have left (docs/policies.md, P4).

They stand in the settings with the names and units of the jobs' own preferences, which come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.model.job_preferences import RANK_MODES
from policy.model.pbs_units import UnitError, parse_size_kib

Preset = tuple[tuple[str, str], ...]
"""Names of preferences without ``pbsteer_``, with their values as texts."""

_NUMBERS = ("min_compute", "min_network", "max_temp")
_LONGEST_NAME = 64
_LONGEST_VALUE = 64
_MOST = 1e15


def read_presets(data: Any) -> tuple[tuple[str, Preset], ...] | None:
    """The presets by application, sorted; None if one of them has another name or value than a job could have."""
    if not isinstance(data, Mapping):
        return None
    presets = []
    for application in sorted(data):
        preferences = data[application]
        if not (0 < len(application) <= _LONGEST_NAME and application.isprintable()) or not isinstance(
            preferences, Mapping
        ):
            return None
        texts = tuple((name, str(preferences[name])) for name in sorted(preferences))
        if not texts or not all(_is_good(name, text) for name, text in texts):
            return None
        presets.append((application, texts))
    return tuple(presets)


def _is_good(name: str, text: str) -> bool:
    if len(text) > _LONGEST_VALUE:
        return False
    if name == "rank":
        return text in RANK_MODES
    try:
        amount = float(text) if name in _NUMBERS else parse_size_kib(text) if name == "min_mem" else 0
    except (UnitError, ValueError):
        return False
    return 0 < amount <= _MOST
