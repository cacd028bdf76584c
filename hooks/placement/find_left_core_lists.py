"""The files with jobs' lists on a host that outlived their jobs (:mod:`hooks.placement.files_with_core_list`)."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

FOLDER = "aux"
"""Below PBS_HOME, where PBS has its own node files."""
PREFIX = "pbsteer."


def find_left_core_lists(home: Path, is_gone: Callable[[str], bool]) -> list[Path]:
    """The files of the jobs that are gone. Raises OSError."""
    return [
        path
        for path in sorted((home / FOLDER).glob(f"{PREFIX}*"))
        if is_gone(path.name[len(PREFIX) :].rpartition(".")[0])
    ]
