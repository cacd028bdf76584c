"""Starts a job's process, which goes on when the process that started it ends."""

from __future__ import annotations

import os
import subprocess

from migration.programs.program_search_path import own_program


def start_mgproc(gid: str) -> None:
    """Start ``mgproc GID`` in a session of its own, with nothing of ours open."""
    subprocess.Popen(
        [own_program("mgproc"), gid],
        cwd="/", env=dict(os.environ), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
