"""The account of a person, on hosts that may have none: no program of the host knows it, only the tests' own."""

from __future__ import annotations

import pwd

UID = 54_321
NAME = "guest"
_getpwnam = pwd.getpwnam


def find_account(name: str) -> pwd.struct_passwd:
    """In place of ``pwd.getpwnam``."""
    if name != NAME:
        return _getpwnam(name)
    return pwd.struct_passwd((NAME, "x", UID, UID, "", "/nonexistent", "/bin/bash"))
