"""Values of the hooks' settings as they are in the file, for the hooks that run on hosts.

These run in a process of their own at each job's end or each minute, so they load no types for settings. The values
were checked when they were applied.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_section(path: str | None, name: str) -> Mapping[str, Any]:
    """The values of one section in a hook's configuration file; empty if there is no file or no such section.

    Raises OSError or ValueError for a file that cannot be used.
    """
    if not path:
        return {}
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    section = data.get(name, {}) if isinstance(data, dict) else None
    if not isinstance(section, dict):
        raise ValueError(f"{path}: {name} is no table of settings")  # noqa: TRY004 - the file is wrong, no argument
    return section
