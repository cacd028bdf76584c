"""Starts each of pbsteer's programs, with pbsteer's packages importable in that process alone.

Their names (``policy``, ``hooks``, ``tui``, ...) are too general for an environment that others use. A wheel has them
in the folder ``tree`` beside this file, a checkout at its top; only this module puts them on the path.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

PROGRAMS: Mapping[str, str] = {
    "findavl": "migration.cli.for_users.findavl_idle_for_other_clusters",
    "mgdata": "migration.cli.for_service.mgdata_ssh_forced_rsync_command",
    "mgkeys": "migration.cli.for_service.mgkeys_authorized_keys_command",
    "mgproc": "migration.cli.for_service.mgproc_job_process_at_target",
    "mgrecv": "migration.cli.for_service.mgrecv_pass_at_target",
    "mgsched": "migration.cli.for_service.mgsched_pass_at_source",
    "mgserve": "migration.cli.for_service.mgserve_ssh_forced_command",
    "mgstat": "migration.cli.for_users.mgstat",
    "mgstop": "migration.cli.for_users.mgstop",
    "mgsub": "migration.cli.for_users.mgsub",
    "mguser": "migration.cli.for_service.mguser_root_helper_entry",
    "pbsteer": "tui.cli.main",
}
"""The programs, each with the module whose ``main`` it calls."""


def find_tree() -> Path:
    """The folder with pbsteer's packages."""
    installed = Path(__file__).resolve().parent / "tree"
    return installed if installed.is_dir() else Path(__file__).resolve().parents[2]


def run(program: str) -> None:
    """Run a program of :data:`PROGRAMS` to its end."""
    tree = str(find_tree())
    if tree not in sys.path:
        sys.path.insert(0, tree)
    importlib.import_module(PROGRAMS[program]).main()


def main() -> None:
    """Run the program whose name this process was started by; any other name runs ``pbsteer``."""
    name = Path(sys.argv[0]).name
    run(name if name in PROGRAMS else "pbsteer")
