"""Room on the disk for what an apply writes: asked for beforehand, as going back from a full disk needs room too."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from hooks.installed import DeployError, hooks_folder
from hooks.steps import Step

_TIMES = 4
"""Each text is our file, qmgr's copy, the server's copy of that, and the hook's own file."""

_KIB = 1024


def demand_room(home: Path, steps: Sequence[Step]) -> None:
    """Raise :class:`DeployError` where these steps could fill the disk of PBS_HOME or of the hooks in it."""
    needed_kib = _TIMES * sum(len(step.text.encode("utf-8")) for step in steps if step.text is not None) // _KIB
    for folder in (home, hooks_folder(home)):
        free_kib = shutil.disk_usage(folder).free // _KIB
        if free_kib < needed_kib:
            raise DeployError(
                f"{folder}: {free_kib:,} KiB are free on its disk, where the files of the hooks need {needed_kib:,} KiB"
                " while they are imported: make room first"
            )
