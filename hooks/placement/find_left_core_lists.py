"""The files with jobs' lists on a host that outlived their jobs (:mod:`hooks.placement.files_with_core_list`)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

FOLDER = "aux"
"""Below PBS_HOME, where PBS has its own node files."""
PREFIX = "pbsteer."


def find_left_core_lists(home: Path, jobs: Collection[str]) -> list[Path]:
    """The files of jobs that are not among these. Raises OSError."""
    return [
        path
        for path in sorted((home / FOLDER).glob(f"{PREFIX}*"))
        if path.name[len(PREFIX) :].rpartition(".")[0] not in jobs
    ]
