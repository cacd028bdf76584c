"""The folder of migration's files, MG_HOME, and the file in it whose presence means that this site has other clusters.

The module imports nothing: the console learns from one look at that file whether it needs the rest.
"""

from __future__ import annotations

import os
from pathlib import Path

HOME = Path("/var/spool/pbsteer-mg")
FILE = "cluster.toml"


def home() -> Path:
    """The folder of all files: MG_HOME, or its default."""
    return Path(os.environ.get("MG_HOME") or HOME)
