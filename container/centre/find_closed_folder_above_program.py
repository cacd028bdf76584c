"""Finds a folder that other accounts cannot enter on the way to a program, its links, or the program that runs it.

sudo and sshd then say only that a command was not found, or nothing at all.
"""

from __future__ import annotations

import stat
from pathlib import Path

_MOST_FIRST_LINE = 1024


def find_closed_folder(path: Path) -> Path | None:
    """The highest folder above ``path``, as it is written or with its links resolved, that only its owner enters."""
    for way in (path, path.resolve()):
        for folder in reversed(way.parents):
            if not folder.stat().st_mode & stat.S_IXOTH:
                return folder
    return None


def find_closed_to_program(program: Path) -> Path | None:
    """The same for a script and the interpreter that its first line names."""
    closed = find_closed_folder(program)
    if closed is not None:
        return closed
    with program.open("rb") as file:
        first = file.readline(_MOST_FIRST_LINE)
    words = first[2:].decode("utf-8", "surrogateescape").split()
    return find_closed_folder(Path(words[0])) if first.startswith(b"#!") and words else None
