"""Parses TOML: with Python's own parser from 3.11 on, before that with tomli, which is the same code.

Migration is the lowest layer that may use a package beyond the standard library; simulator and console use this too.
"""

from __future__ import annotations

import sys
from typing import Any

from hooks.store.bounded_json import refuse_deep

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ValueError, which names line and column of what is no TOML; a byte order mark
    and tables or lists nested deeply are refused too."""
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark (BOM); allowed is UTF-8 text without one")
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    refuse_deep(data)
    return data
