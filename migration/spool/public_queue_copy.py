"""Writes the copy of a queue file that every user may read, without the private values of jobs.

Variables, arguments, build commands, file names and the data key are left out. Users who may not read the file itself
read the copy, which is written after it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

from hooks.store.atomic_file import replace_file
from policy.migration.job_record_and_copy_updates import Record

FOLDER = "shown"
_MODE = 0o644
_MOST_KEPT = 1 << 16
"""Lines of which the shown form is kept: a pass writes a file many times, and changes one line of it."""
_PRIVATE = frozenset(("args", "env", "build", "shared", "exclude", "nostage", "datakey", "more"))
_SHOWN = frozenset(("v", *(one.name for one in fields(Record)))) - _PRIVATE


def find_readable(path: Path) -> Path:
    """The queue file itself, or its copy if this user may not read the file."""
    return path if os.access(path, os.R_OK) or not path.exists() else shown_path(path)


def shown_path(path: Path) -> Path:
    """Where the copy of a queue file is."""
    return path.parent / FOLDER / path.name


def write_shown(path: Path, lines: Iterable[str]) -> None:
    """Replace the copy of the queue file, which has these lines. Where it cannot be written it stays stale: what the
    copy shows is no reason to fail a change.
    """
    copy = shown_path(path)
    data = "\n".join([*map(_without_private, lines), ""]).encode("ascii")
    with contextlib.suppress(OSError):
        copy.parent.mkdir(mode=0o755, exist_ok=True)
        replace_file(copy, data, mode=_MODE, sync=False)


def is_stale(path: Path) -> bool:
    """Whether the queue file is newer than its copy, as after a crash or a change by hand."""
    try:
        written_ns = path.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    try:
        return shown_path(path).stat().st_mtime_ns < written_ns
    except FileNotFoundError:
        return True


@lru_cache(maxsize=_MOST_KEPT)
def _without_private(line: str) -> str:
    return "\t".join(part for part in line.split("\t") if part.partition("=")[0] in _SHOWN)
