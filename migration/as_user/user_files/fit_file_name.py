"""Adds a suffix to a file name so that it stays within 255 bytes: a name that would be longer gets a hash instead of
its end.
"""

from __future__ import annotations

import hashlib
import os

_MOST_BYTES = 255
_HASHED = 16


def fit_name(name: str, suffix: str) -> str:
    """The name with the suffix. A name that would be too long becomes its beginning, a hash of the whole, and the
    suffix, so that two names never become one."""
    raw, end = os.fsencode(name), os.fsencode(suffix)
    if len(raw) + len(end) <= _MOST_BYTES:
        return name + suffix
    hashed = f"~{hashlib.sha256(raw).hexdigest()[:_HASHED]}".encode("ascii")
    return os.fsdecode(raw[: _MOST_BYTES - len(hashed) - len(end)] + hashed + end)


def fit_path(path: str, suffix: str) -> str:
    """The path with the suffix at its last name."""
    above, slash, name = path.rpartition("/")
    return f"{above}{slash}{fit_name(name, suffix)}"
