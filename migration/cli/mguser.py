"""``mguser``: the root helper's entry."""

from __future__ import annotations

import sys

from migration.as_user import root_helper


def main() -> None:
    """Run by sudo; the arguments are those of :mod:`migration.as_user.root_helper`."""
    sys.exit(root_helper.main(sys.argv[1:]))
