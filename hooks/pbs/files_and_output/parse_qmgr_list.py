"""Parses the output of qmgr's list command."""

from __future__ import annotations


def parse_list(text: str) -> dict[str, dict[str, str]]:
    """The attributes by object in the output of ``qmgr -c "list ..."``: a line with kind and name, then indented
    attributes; long values are continued on lines that begin with a tab. An attribute that is listed several times has
    its values joined by commas."""
    objects: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        if line.startswith("\t") and last:
            current[last] += line.strip()
        elif line.startswith(" "):
            last, _, value = (part.strip() for part in line.partition(" = "))
            current[last] = f"{current[last]},{value}" if last in current else value
        elif len(line.split()) == 2 and not line.startswith("#"):
            current, last = objects.setdefault(line.split()[1], {}), ""
    return objects
