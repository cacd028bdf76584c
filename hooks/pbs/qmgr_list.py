"""The output of qmgr's list command as attributes."""

from __future__ import annotations


def parse_list(text: str) -> dict[str, dict[str, str]]:
    """What ``qmgr -c "list ..."`` prints: a line with kind and name, indented attributes, long values continued."""
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
