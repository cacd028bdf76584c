"""Tests whether a user can have files in the landing folder: makes the user's folder there, and removes it again."""

from __future__ import annotations

from migration.transfer.ssh_and_rsync_to_source import RunAs

WRITABLE = "writable"
LANDING_OF = "landing_of"
"""The key in the body of ``avail`` that names the user for whom the other cluster is to test."""
_NAME = "mg-check"
_WITHIN_S = 10


def try_landing(run: RunAs, landing: str, user: str) -> str:
    """WRITABLE, or what is wrong."""
    for operation in ("folder", "remove"):
        done = run([operation, landing, f"{user}/{_NAME}"], user=user, timeout_s=_WITHIN_S)
        if done.status:
            return done.problem
    return WRITABLE
