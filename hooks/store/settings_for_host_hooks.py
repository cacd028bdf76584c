"""Values of the hooks' settings as they are in the file, for the hooks that run on hosts.

These run in a process of their own at each job's end or each minute, so they load no types for settings, and no reader
of JSON for a section that the file does not have. The values were checked when they were applied.
"""

from __future__ import annotations

from hooks.store.bounded_json import parse_json

# Not imported: typing takes longer to load than this module and all that it needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def read_section(path: str | None, name: str) -> Mapping[str, Any]:
    """The values of one section in a hook's configuration file; empty if there is no file or no such section.

    Raises OSError or ValueError for a file that cannot be used.
    """
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes longer to load than this takes in all
        text = file.read()
    # The file has only sections with values that differ from the defaults, and their names as they are (ASCII). A file
    # that was cut off has a brace too few.
    is_whole = text.startswith("{") and text.count("{") == text.count("}")
    if is_whole and f'"{name}"' not in text and "\\" not in text:
        return {}
    data = parse_json(text)
    section = data.get(name, {}) if isinstance(data, dict) else None
    if not isinstance(section, dict):
        raise ValueError(f"{path}: {name} is no table of settings")  # noqa: TRY004 - the file is wrong, no argument
    return section
