"""Parses TOML: with Python's own parser from 3.11 on, before that with tomli, which is the same code.

Migration is the lowest layer that may use a package beyond the standard library; simulator and console use this too.
"""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError, which names line and column."""
    data: dict[str, Any] = tomllib.loads(text)
    return data
