"""Replaces a file whole: a new file beside it is written, synced and renamed over it, and the folder is synced.

A kill at any point leaves the old content or the new. No other file is written to through a link: a new file that an
earlier write left, or that someone else put there, is removed first.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path


def open_anew(path: Path) -> int:
    """Open a file that is made by this call, in the place of one that is there. Raises OSError."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def replace_file(
    path: Path,
    data: bytes,
    *,
    mode: int = 0o600,
    group: int | None = None,
    sync: bool = True,
    fresh: Path | None = None,
    open_fresh: Callable[[Path], int] = open_anew,
) -> None:
    """Replace the file, with this mode whatever the umask, and with this group if one is given. Raises OSError; the
    file is then as it was.

    Without ``sync`` a crash of the host may lose the new content. ``fresh``: the new file until it is renamed;
    ``open_fresh`` opens it for writing, empty.
    """
    fresh = path.with_name(f".{path.name}.new") if fresh is None else fresh
    descriptor = open_fresh(fresh)
    try:
        try:
            if group is not None:
                os.fchown(descriptor, -1, group)
            os.fchmod(descriptor, mode)
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(fresh, path)  # noqa: PTH105 - beside the other calls of os, which tests stop one by one
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
    if sync:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
