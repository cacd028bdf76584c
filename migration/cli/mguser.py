"""``mguser``: the root helper's entry."""

from __future__ import annotations

import sys

from migration.as_user import mguser


def main() -> None:
    """Run by sudo; the arguments are those of :mod:`migration.as_user.mguser`."""
    sys.exit(mguser.main(sys.argv[1:]))
