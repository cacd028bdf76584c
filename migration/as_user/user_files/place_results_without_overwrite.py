"""Moves results into a job's folder, as the folder's user, without overwriting what has changed there.

Results arrive in a folder of their own inside the job's. Each is moved to its place in one step if the place is empty,
unchanged since the upload, or already the result; otherwise it is put beside it, as ``NAME.mg-GID``. Folders that their
user has closed are opened meanwhile: those of the results, and those in which results take their places.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple

from migration.as_user.user_files.fit_file_name import fit_path
from migration.as_user.user_files.folder_tree_listing import (
    FRESH_LINK,
    PART,
    STAGE,
    Entry,
    check_inside,
    check_own_folder,
    read_entry,
    read_lines,
)

_FIELDS = len(Entry._fields)
"""Of an entry; a newer version may send more."""
_SECOND = 10**9
_NO_SETUID = 0o777
_MUNGED = "/rsyncd-munged/"


class Kept(NamedTuple):
    """A path that had changed at the source, and the name under which the result stands beside it."""

    path: str
    beside: str


def print_settled(arguments: list[str]) -> int:
    """``settle FOLDER GID``: standard input has the entry of each result as it was uploaded; prints what was kept."""
    folder, gid = arguments
    check_own_folder(folder)
    uploaded = {}
    for line in read_lines():
        entry = Entry(*json.loads(line)[:_FIELDS])
        uploaded[check_inside(entry.path)] = entry
    kept = settle(folder, gid, uploaded)
    sys.stdout.write(json.dumps(kept) + "\n")
    return 0


def settle(folder: str, gid: str, uploaded: dict[str, Entry]) -> list[Kept]:
    """Move all results to their places, and return what was kept. A kill at any point leaves each file whole, and a
    repetition leads to the same end. Raises OSError."""
    stage = f"{folder}/{STAGE}{gid}"
    kept: list[Kept] = []
    there = read_entry(stage, stage)
    if there is not None and there.kind != "d":
        raise OSError(f"{stage}: must be a folder that rsync has made")
    if there is not None:
        _settle(stage, folder, "", gid, uploaded, kept)
        shutil.rmtree(stage)
    return kept


def _settle(stage: str, folder: str, below: str, gid: str, uploaded: dict[str, Entry], kept: list[Kept]) -> None:
    with _opened(f"{folder}/{below}" if below else folder):
        _settle_opened(stage, folder, below, gid, uploaded, kept)


def _settle_opened(stage: str, folder: str, below: str, gid: str, uploaded: dict[str, Entry], kept: list[Kept]) -> None:
    for name in _list(f"{stage}/{below}"):
        if _is_services(name):
            continue
        path = f"{below}/{name}" if below else name
        fresh, place = _read_fresh(stage, path), f"{folder}/{path}"
        there = read_entry(place, path)
        if fresh is None:
            continue
        if fresh.kind == "d" and there is not None and there.kind == "d":
            _settle(stage, folder, path, gid, uploaded, kept)
        elif (
            there is None or _is_already(fresh, f"{stage}/{path}", there, place) or _is_same(there, uploaded.get(path))
        ):
            if there is not None and there.kind == "d":
                kept.append(_put_beside(f"{stage}/{path}", folder, path, gid, fresh))
            else:
                _close_as(place, f"{stage}/{path}", fresh)
                _move(f"{stage}/{path}", place, fresh)
        else:
            kept.append(_put_beside(f"{stage}/{path}", folder, path, gid, fresh))


def _list(fresh_folder: str) -> list[str]:
    """The names in a folder of the results, which is opened for good: they leave it, and it goes with the stage."""
    with _opened(fresh_folder, for_good=True):
        return sorted(os.listdir(fresh_folder))


@contextlib.contextmanager
def _opened(folder: str, *, for_good: bool = False) -> Iterator[None]:
    """Let the user read and write one of the user's own folders in the block, as the job could. Only the folder that
    was looked at is opened, whatever takes its place meanwhile.
    """
    held = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        info = os.fstat(held)
        mode = stat.S_IMODE(info.st_mode)
        is_closed = mode & stat.S_IRWXU != stat.S_IRWXU and info.st_uid == os.getuid()
        if is_closed:
            os.chmod(f"/proc/self/fd/{held}", mode | stat.S_IRWXU)
        try:
            yield
        finally:
            if is_closed and not for_good:
                os.chmod(f"/proc/self/fd/{held}", mode)
    finally:
        os.close(held)


def _is_services(name: str) -> bool:
    """Whether only the service gives such a name. A result with the name of another job's stage would be settled as
    that job's."""
    return name == PART or name.startswith(STAGE)


def _is_already(fresh: Entry, fresh_path: str, there: Entry, place: str) -> bool:
    """Whether the file in the place is already the result. Files of one size and one time may be the results of two
    jobs, so their content is compared."""
    if there != fresh or fresh.kind != "f":
        return there == fresh
    filecmp.clear_cache()  # which knows files by size and time
    try:
        return filecmp.cmp(fresh_path, place, shallow=False)
    except PermissionError:
        return False


def _is_same(there: Entry, uploaded: Entry | None) -> bool:
    """Whether a file is still as it was uploaded; the two clusters' disks may keep times to the second only."""
    if uploaded is None or there._replace(mtime_ns=0) != uploaded._replace(mtime_ns=0):
        return False
    one, other = there.mtime_ns, uploaded.mtime_ns
    return one == other or (0 in (one % _SECOND, other % _SECOND) and one // _SECOND == other // _SECOND)


def _put_beside(fresh_path: str, folder: str, path: str, gid: str, fresh: Entry) -> Kept:
    number = 1
    while True:
        beside = fit_path(path, f".mg-{gid}" + ("" if number == 1 else f".{number}"))
        place = f"{folder}/{beside}"
        there = read_entry(place, path)
        if there is None or (fresh.kind != "d" and _is_already(fresh, fresh_path, there, place)):
            _move(fresh_path, place, fresh)
            return Kept(path, beside)
        number += 1


def _read_fresh(stage: str, path: str) -> Entry | None:
    """An entry of the results that have arrived. rsync has written links in a form that nothing follows."""
    fresh = read_entry(f"{stage}/{path}", path)
    if fresh is not None and fresh.target.startswith(_MUNGED):
        return fresh._replace(target=fresh.target[len(_MUNGED) :])
    return fresh


def _close_as(place: str, fresh_path: str, fresh: Entry) -> None:
    """Let a file that takes another's place be no more open to others than that one is."""
    try:
        there = os.lstat(place).st_mode
    except FileNotFoundError:
        return
    if fresh.kind == "f" and stat.S_ISREG(there):
        os.chmod(fresh_path, os.lstat(fresh_path).st_mode & (there | stat.S_IRWXU) & _NO_SETUID)


def _move(fresh_path: str, place: str, fresh: Entry) -> None:
    if fresh.kind == "l":
        made = f"{os.path.dirname(fresh_path)}/{FRESH_LINK}"
        if os.path.lexists(made):
            os.unlink(made)
        os.symlink(fresh.target, made)
        try:
            os.replace(made, place)
        except OSError:
            os.unlink(made)
            raise
        os.unlink(fresh_path)
    elif fresh.kind == "d":
        info = os.lstat(fresh_path)
        os.mkdir(place, 0o700)
        _move_all(fresh_path, place)
        # A folder may have its group's bit from the one in which it was made here.
        os.chmod(place, info.st_mode & _NO_SETUID | os.lstat(place).st_mode & stat.S_ISGID)
        os.utime(place, ns=(info.st_atime_ns, info.st_mtime_ns))
    else:
        # No result of another cluster runs as this user, whoever starts it.
        os.chmod(fresh_path, os.lstat(fresh_path).st_mode & _NO_SETUID)
        os.replace(fresh_path, place)


def _move_all(fresh_folder: str, folder: str) -> None:
    """The content of a folder that is new here."""
    for name in _list(fresh_folder):
        entry = _read_fresh(fresh_folder, name)
        if not _is_services(name) and entry is not None:
            _move(f"{fresh_folder}/{name}", f"{folder}/{name}", entry)
