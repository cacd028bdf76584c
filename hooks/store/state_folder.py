"""Where pbsteer's files are: one folder in PBS_HOME.

Hooks that only read a file there load this, and nothing that writes.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = "pbsteer"


def state_folder(pbs_home: str) -> Path:
    """The folder of pbsteer's files, for a server with this PBS_HOME."""
    return Path(pbs_home) / FOLDER
