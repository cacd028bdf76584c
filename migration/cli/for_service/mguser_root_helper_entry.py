"""``mguser``: the root helper's entry."""

from __future__ import annotations

import sys

from migration.as_user.helper import root_helper
from migration.as_user.helper.root_helper_session import SESSION, serve
from migration.as_user.helper.run_in_own_pid_namespace import hide_from_users


def main() -> None:
    """Run by sudo; the arguments are those of :mod:`migration.as_user.helper.root_helper`."""
    hide_from_users()
    words = sys.argv[1:]
    sys.exit(serve(root_helper.main) if words == [SESSION] else root_helper.main(words))
