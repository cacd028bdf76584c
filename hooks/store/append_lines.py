"""Appends whole lines to a file of pbsteer's folder: a file that is full is renamed, and of the renamed ones only the
newest are kept.

Each call is one write at the end of the file, so several processes may append to one file. What a kill or a full disk
left of a line is ended before the next one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

_MOST_KEPT = 64
"""So many full files are kept beside the one that is written."""


def append_lines(
    path: Path, lines: bytes, *, full_bytes: int, share: Callable[[int], None] | None = None, sync: bool = True
) -> None:
    """Append the lines; the file is made if missing. Raises OSError.

    A file over ``full_bytes`` is renamed first, with the time in its name. ``share`` gives the open file its group and
    mode; without it a file in the place of a full one is for the same group. Without ``sync`` a crash of the host may
    lose the lines.
    """
    before = path.stat() if path.is_file() else None
    is_full = before is not None and before.st_size > full_bytes and _put_full_one_aside(path)
    begin = b"" if not lines or is_full or before is None or ends_whole(path) else b"\n"
    descriptor = open_own(path, os.O_WRONLY | os.O_APPEND)
    try:
        if share is not None:
            share(descriptor)
        elif is_full and before is not None:
            os.fchown(descriptor, -1, before.st_gid)
            os.fchmod(descriptor, before.st_mode & 0o777)
        os.write(descriptor, begin + lines)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_own(path: Path, flags: int) -> int:
    """Open a file for writing, made if missing; a folder or a dangling link in its place is renamed."""
    flags |= os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except (IsADirectoryError, FileNotFoundError):
        put_aside(path)
        return os.open(path, flags, 0o600)


def put_aside(path: Path) -> Path:
    """Rename what is at ``path`` and return the new path; an earlier file of that name is replaced."""
    aside, number = path.with_suffix(f".unreadable{path.suffix}"), 1
    while aside.is_dir() or (path.is_dir() and os.path.lexists(aside)):
        number += 1
        aside = path.with_suffix(f".unreadable-{number}{path.suffix}")
    return path.replace(aside)


def ends_whole(path: Path) -> bool:
    """Whether the last line of the file is ended; so is an empty file."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _put_full_one_aside(path: Path) -> bool:
    """Whether it was renamed. It is not where another one was in this second."""
    aside = path.with_name(f"{path.stem}-{time.strftime('%Y%m%dT%H%M%S')}{path.suffix}")
    if aside.exists():
        return False
    path.replace(aside)
    # Their names are in the order of time.
    kept = sorted(each for each in path.parent.glob(f"{path.stem}-2*{path.suffix}") if each.is_file())
    for old in kept[:-_MOST_KEPT]:
        with contextlib.suppress(OSError):
            old.unlink()
    return True
