"""Folders and small files of guests below the landing folder, handled as the user who owns them.

The landing folder itself may be open to all, as /tmp is. A user's folder in it must belong to that user and be no link,
or another user could redirect the files.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import stat
import sys
from typing import NamedTuple

from migration.as_user.user_files.fit_file_name import fit_path
from migration.as_user.user_files.folder_tree_listing import (
    FRESH_LINK,
    check_inside,
    open_own_folder,
    print_manifest,
    read_entry,
    read_lines,
)
from migration.as_user.user_files.remove_folder_in_limited_steps import NotRemoved, open_folder_to_empty, remove_folder

NO_FILE = 2
"""The exit status of ``read`` where there is no file."""
TAKEN = 4
"""The exit status of ``folder`` where the user's own folder is another's."""
PARTLY = 5
"""The exit status of ``remove`` where more is left than is removed at once."""


class TakenError(ValueError):
    """Another user has made the folder with this user's name."""


def make_folder(arguments: list[str]) -> int:
    """``folder LANDING PATH``: make the folder at the relative path, and those above it, closed to others."""
    landing, path = arguments
    try:
        _own_folder(landing, path)
    except TakenError as taken:
        sys.stderr.write(f"folder: {taken}\n")
        return TAKEN
    os.makedirs(f"{landing}/{check_inside(path)}", mode=0o700, exist_ok=True)
    return 0


def print_space(arguments: list[str]) -> int:
    """``space FOLDER``: the bytes and the files that the user may still write there."""
    info = os.statvfs(arguments[0])
    sys.stdout.write(json.dumps([info.f_bavail * info.f_frsize, info.f_favail]) + "\n")
    return 0


def write_file(arguments: list[str]) -> int:
    """``write PATH MODE``: replace the file by what stands on standard input. Its folder must be the user's own."""
    path, mode = arguments
    above, _, name = path.rpartition("/")
    folder = os.open(above, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if os.fstat(folder).st_uid != os.getuid():
        raise ValueError(f"{above}: belongs to another user")
    fresh = f"{name}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(fresh, flags, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        os.fchmod(file.fileno(), int(mode, 8) & 0o755)
        os.fsync(file.fileno())
    os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    return 0


def print_file(arguments: list[str]) -> int:
    """``read PATH BYTES``: the beginning of a regular file. Exit status NO_FILE if there is none."""
    path, most = arguments
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return NO_FILE
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{path}: no regular file")
        sys.stdout.buffer.write(file.read(int(most)))
    return 0


class SharedFile(NamedTuple):
    """A copy of a shared file: its path, size and time."""

    path: str
    size: int
    mtime_ns: int


def print_shared(arguments: list[str]) -> int:
    """``shared LANDING PATH SIZE MTIME_NS``: where the copy of this version belongs, and whether it is there.

    The first version has the mirrored path, a later one stands beside it.
    """
    landing, path, size, mtime_ns = arguments
    _own_folder(landing, path)
    wanted = SharedFile(f"{landing}/{check_inside(path)}", int(size), int(mtime_ns))
    beside = wanted._replace(path=fit_path(wanted.path, f".mg-{wanted.mtime_ns}"))
    first = _read_shared(wanted.path)
    if first is None or first == wanted:
        chosen = wanted
    else:
        chosen = beside
    os.makedirs(os.path.dirname(chosen.path), mode=0o700, exist_ok=True)
    sys.stdout.write(json.dumps([chosen.path, _read_shared(chosen.path) == chosen]) + "\n")
    return 0


def place_shared(arguments: list[str]) -> int:
    """``place PART PATH SIZE MTIME_NS``: give a file that has arrived whole its place, read-only."""
    part, path, size, mtime_ns = arguments
    found = _read_shared(part)
    if found != SharedFile(part, int(size), int(mtime_ns)):
        sys.stderr.write(f"{path}: changed at the source while it was copied\n")
        return 3
    os.chmod(part, 0o444)
    os.replace(part, path)
    return 0


def set_links(arguments: list[str]) -> int:
    """``links FOLDER``: make each link on standard input, ``[path, target]`` as JSON a line, lead to its target, and
    then print every entry of the folder.
    """
    for line in read_lines():
        path, target = json.loads(line)
        place = f"{arguments[0]}/{check_inside(path)}"
        there = read_entry(place, path)
        if there is not None and there.kind == "l" and there.target == target:
            continue
        if there is not None and there.kind != "l":
            raise ValueError(f"{path}: is no longer a link")
        fresh = f"{os.path.dirname(place)}/{FRESH_LINK}"
        if os.path.lexists(fresh):
            os.unlink(fresh)
        os.symlink(target, fresh)
        os.replace(fresh, place)
    return print_manifest(arguments)


def remove(arguments: list[str]) -> int:
    """``remove LANDING PATH``: remove a folder or a file, and the folders above it that become empty. Exit status
    PARTLY where it goes on with the next call.
    """
    landing, path = arguments
    _own_folder(landing, path)
    parts = check_inside(path).split("/")
    with contextlib.ExitStack() as opened:
        folders = [os.open(landing, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        opened.callback(os.close, folders[0])
        for part in parts[:-1]:
            try:
                folders.append(open_folder_to_empty(part, folders[-1]))
            except FileNotFoundError:
                return 0
            opened.callback(os.close, folders[-1])
        left = _remove(parts[-1], folders[-1])
        if left is not None:
            sys.stderr.write(f"{landing}/{path}: {left.text}\n")
            return 1 if left.stuck else PARTLY
        with contextlib.suppress(OSError):
            for number in range(len(parts) - 2, 0, -1):
                os.rmdir(parts[number], dir_fd=folders[number])
    return 0


def unlink(arguments: list[str]) -> int:
    """``unlink FOLDER NAME...``: remove files of a folder of the user's own, which is neither made nor changed. A file
    that is not there is no error.
    """
    path, *names = arguments
    try:
        folder = open_own_folder(path)
    except FileNotFoundError:
        return 0
    try:
        for name in names:
            if "/" in check_inside(name):
                raise ValueError(f"name {name!r:.200}: must be a name in the folder")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    return 0


def _remove(name: str, above: int) -> NotRemoved | None:
    try:
        os.unlink(name, dir_fd=above)
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return remove_folder(name, above)
    return None


def _own_folder(landing: str, path: str) -> str:
    """The user's own folder in the landing folder, made if it is missing. Raises :class:`TakenError` for another's.

    Every user may write there, so another one could make it first. One that others may write to is closed to them.
    """
    own = f"{landing}/{check_inside(path).split('/')[0]}"
    with contextlib.suppress(FileExistsError):
        os.mkdir(own, 0o700)
    info = os.lstat(own)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        what = "a folder" if stat.S_ISDIR(info.st_mode) else "no folder"
        raise TakenError(
            f"{own}: must be a folder of the user's own, and is {what} of {_name(info.st_uid)}, mode "
            f"{stat.S_IMODE(info.st_mode):04o}: an administrator has to remove it"
        )
    if info.st_mode & 0o022:
        folder = os.open(own, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(folder, stat.S_IMODE(info.st_mode) & ~0o022)
        finally:
            os.close(folder)
    return own


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user id {uid}"


def _read_shared(path: str) -> SharedFile | None:
    entry = read_entry(path, path)
    return SharedFile(path, entry.size, entry.mtime_ns) if entry is not None and entry.kind == "f" else None
