"""The command line by which the root helper is started."""

from __future__ import annotations

import os

from migration.programs.program_search_path import own_program


def helper_argv() -> list[str]:
    """The beginning of each command line of the helper."""
    helper = own_program("mguser")
    return [helper] if os.geteuid() == 0 else ["sudo", "-n", "--", helper]
