"""Checks that a program which root runs can be changed by root only: the file, its folder and every folder above."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def why_not_root_only(path: Path) -> str:
    """Why another user could exchange this file or folder; empty if none could.

    The path and all its parents, also those of symbolic links in it, must belong to root or to the calling user and be
    writable by no other. A parent with the sticky bit, such as /tmp, may be writable: files in it stay their owner's. A
    path that does not exist yet is judged by the folders that do.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - unlike resolve() it leaves links as they are
    left, seen = [whole], set()
    while left:
        end = left.pop()
        for part in [*reversed(end.parents), end]:
            if part in seen:
                continue
            seen.add(part)
            try:
                status = part.lstat()
            except FileNotFoundError:
                break
            if stat.S_ISLNK(status.st_mode):
                left += [part.parent / part.readlink(), part.resolve()]
            why = _why_writable_by_others(status, is_parent=part != whole)
            if why:
                return f"{part} {why}, so {whole} could be exchanged, which root runs"
    return ""


def _why_writable_by_others(status: os.stat_result, *, is_parent: bool) -> str:
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to user {status.st_uid}; allowed is root"
    if stat.S_ISLNK(status.st_mode) or (is_parent and status.st_mode & stat.S_ISVTX):
        return ""
    if status.st_mode & stat.S_IWOTH:
        return f"has mode {stat.S_IMODE(status.st_mode):o}: everybody may write to it"
    if status.st_mode & stat.S_IWGRP and status.st_gid != 0:
        return f"has mode {stat.S_IMODE(status.st_mode):o}: group {status.st_gid} may write to it"
    return ""
