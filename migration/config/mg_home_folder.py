"""The folder of migration's files, MG_HOME, and the file in it that says that this site has other clusters.

It imports nothing: the console needs one look at a file to know that a site has no other clusters.
"""

from __future__ import annotations

import os
from pathlib import Path

HOME = Path("/var/spool/pbsteer-mg")
FILE = "cluster.toml"


def home() -> Path:
    """The folder of all files: MG_HOME, or its default."""
    return Path(os.environ.get("MG_HOME") or HOME)
