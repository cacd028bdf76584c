"""Whether root alone can change a file that root is going to run or to believe: the file, and every folder on the way.

Links are followed one by one, since whoever can write a folder that a link leads through can put another file there.
"""

from __future__ import annotations

import stat
from pathlib import Path

_MOST_LINKS = 40


def find_fault(program: str, *, may_be_sticky: bool = False) -> str:
    """Why this may not be run as root, as a sentence; empty if it may. ``may_be_sticky``: a folder of root's that all
    may write will do if it is sticky, where nobody can replace what is root's."""
    return _look(program, "program", stat.S_IXUSR, may_be_sticky=may_be_sticky)


def find_other_writers(path: str) -> str:
    """A sentence if others than root may change this file, or it does not exist; else empty."""
    return _look(path, "file", 0)


def _look(path: str, what: str, mode: int, *, may_be_sticky: bool = False) -> str:
    try:
        return _find_fault(path, what, mode, may_be_sticky=may_be_sticky)
    except OSError as error:
        return f"{path}: {error.strerror or error}"


def _find_fault(path: str, what: str, mode: int, *, may_be_sticky: bool) -> str:
    """Walk from the root, replacing each link by its target, and check every folder and file on the way."""
    left = path.split("/")[::-1]
    here = Path("/")
    links = 0
    while True:
        found = here.lstat()
        is_sticky = may_be_sticky and stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if stat.S_ISLNK(found.st_mode) and (found.st_uid == 0 or not may_be_sticky):
            links += 1
            if links > _MOST_LINKS:
                return f"{path}: too many links"
            target = str(here.readlink())
            here = Path("/") if target.startswith("/") else here.parent
            left += target.split("/")[::-1]
        elif found.st_uid != 0:
            return f"{here} belongs to user {found.st_uid}, not to root"
        elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not is_sticky:
            return f"{here} is writable for others than root ({stat.filemode(found.st_mode)})"
        while left and left[-1] in ("", "."):
            left.pop()
        if not left:
            break
        word = left.pop()
        here = here.parent if word == ".." else here / word
    if not stat.S_ISREG(found.st_mode) or found.st_mode & mode != mode:
        return f"{here} is no {what}"
    return ""
