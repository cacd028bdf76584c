"""The drop box: users leave requests, and the service identifies each user by the file's owner, never by its text.

The folder has mode 1733: users can write to it, but cannot list it or touch another user's file. The service takes
regular files with one link and at most 64 KiB, opened without following links; the rest is refused with a reason. What
has no ticket for its name is no request, and is removed after some minutes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from migration.spool.record_as_key_value_line import encode, encode_value, to_pairs

MODE = 0o1733
MOST_BYTES = 64 << 10
MOST_FILES = 1_000
MOST_FILES_OF_USER = 100
MOST_BYTES_OF_USER = 1 << 20
"""A pass takes at most so many files, and of one user so many files and bytes; the rest waits for the next pass."""
MOST_LINES = 1_000
"""Of one file."""
SWEPT_AFTER_S = 600
"""Much longer than a request takes to be written under its first name, which is no ticket."""
TICKET = re.compile(r"[0-9a-f]{16}\.req")
"""The name of a file in the box."""


class DropError(Exception):
    """The request cannot be left; the message names the folder."""


class Dropped(NamedTuple):
    """One file: the user id of its owner, its name (the ticket), and its lines (values still encoded: read them with
    :func:`~migration.spool.record_as_key_value_line.read_fields`), or why it is refused."""

    uid: int
    ticket: str
    lines: tuple[dict[str, str], ...] = ()
    problem: str = ""


def make_drop_box(folder: Path) -> None:
    """Make the folder, with its mode whatever the umask. Raises OSError."""
    folder.mkdir(exist_ok=True)
    folder.chmod(MODE)


def drop(folder: Path, requests: Iterable[Mapping[str, str | int | tuple[str, ...]]]) -> str:
    """Leave a file of requests, one a line, and return its ticket. It appears whole or not at all.

    A request has ``do`` and the fields of a record. Raises :class:`DropError`.
    """
    lines = [
        "\t".join(["v=1", *(f"{name}={encode_value(value)}" for name, value in request.items())])
        for request in requests
    ]
    data = "".join(f"{line}\n" for line in lines).encode("ascii")
    if len(data) > MOST_BYTES:
        raise DropError(f"the request has {len(data):,} bytes: at most {MOST_BYTES:,} are taken at once")
    ticket = f"{secrets.token_hex(8)}.req"
    part = folder / f".{ticket}"
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            os.fchmod(descriptor, 0o644)
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        part.rename(folder / ticket)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise DropError(f"{folder}: {error.strerror}") from error
    return ticket


def take(folder: Path) -> Iterator[Dropped]:
    """The files in the box, up to the bounds of a pass: each user's oldest first, the users in rotation. A file stays
    until :func:`clear` is called for it, so a crash in between loses nothing; its ticket is then seen again. Raises
    OSError for a folder that cannot be read.
    """
    box = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        for name in _find_tickets(box)[:MOST_FILES]:
            with contextlib.suppress(FileNotFoundError):
                yield _read(box, name)
    finally:
        os.close(box)


def _find_tickets(box: int) -> list[str]:
    """The names of requests; a folder is none. No user can delay others' requests with many files or old ones: the
    users come in rotation, and the time is that of the last change, which its owner cannot set back."""
    found: dict[int, list[tuple[int, str, int]]] = {}
    for name in os.listdir(box):
        if TICKET.fullmatch(name):
            with contextlib.suppress(OSError):
                info = os.stat(name, dir_fd=box, follow_symlinks=False)
                if not stat.S_ISDIR(info.st_mode):
                    found.setdefault(info.st_uid, []).append((info.st_ctime_ns, name, info.st_size))
    ranked = [
        (rank, at_ns, name) for files in found.values() for rank, (at_ns, name) in enumerate(_find_share(sorted(files)))
    ]
    return [name for _, _, name in sorted(ranked)]


def _find_share(files: list[tuple[int, str, int]]) -> Iterator[tuple[int, str]]:
    """One user's files for this pass. A larger file than is taken is refused unread, so it counts no more."""
    left = MOST_BYTES_OF_USER
    for at_ns, name, size in files[:MOST_FILES_OF_USER]:
        left -= min(size, MOST_BYTES)
        if left < 0:
            return
        yield at_ns, name


def clear(folder: Path, ticket: str) -> None:
    """Remove a file that has been dealt with; one that is gone, or is a folder by now, is no error."""
    with contextlib.suppress(FileNotFoundError, IsADirectoryError, PermissionError):
        (folder / ticket).unlink()


class Left(NamedTuple):
    """A folder in the box that is not empty, and the user id of its owner."""

    name: str
    uid: int


def sweep(folder: Path, now_s: float) -> list[Left]:
    """Remove what no request can come of, once it is old: files without a ticket for their name, and empty folders but
    root's, such as ``lost+found``. Returns the folders that hold something: what is in them is their owners' to change
    at any moment, so nothing here enters them. Raises OSError for a box that cannot be read.
    """
    box = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return list(_sweep(box, (now_s - SWEPT_AFTER_S) * 1e9))
    finally:
        os.close(box)


def _sweep(box: int, before_ns: float) -> Iterator[Left]:
    for name in os.listdir(box):
        with contextlib.suppress(OSError):
            info = os.stat(name, dir_fd=box, follow_symlinks=False)
            is_folder = stat.S_ISDIR(info.st_mode)
            if info.st_ctime_ns > before_ns or (info.st_uid == 0 if is_folder else TICKET.fullmatch(name)):
                continue
            if not is_folder:
                os.unlink(name, dir_fd=box)
            elif not _remove_empty(box, name):
                yield Left(name, info.st_uid)


def _remove_empty(box: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=box)
    except OSError as error:
        return error.errno not in (errno.ENOTEMPTY, errno.EEXIST)
    return True


def _read(box: int, name: str) -> Dropped:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=box)
    except FileNotFoundError:
        raise
    except OSError as error:
        uid = os.stat(name, dir_fd=box, follow_symlinks=False).st_uid
        return Dropped(uid, name, problem=f"cannot be opened: {error.strerror}")
    try:
        info = os.fstat(descriptor)
        problem = _find_problem(info)
        if problem:
            return Dropped(info.st_uid, name, problem=problem)
        data = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES or not data.endswith(b"\n"):
        return Dropped(info.st_uid, name, problem="cut off, or larger than 64 KiB")
    count = data.count(b"\n")
    if count > MOST_LINES:
        return Dropped(info.st_uid, name, problem=f"{count:,} lines: at most {MOST_LINES:,} are taken")
    try:
        lines = tuple(to_pairs(line) for line in data.decode("ascii").split("\n")[:-1])
    except ValueError as error:
        return Dropped(info.st_uid, name, problem=f"cannot be read: {encode(str(error))[:300]}")
    if any(line.get("v") != "1" for line in lines):
        return Dropped(info.st_uid, name, problem="v: must be 1 on every line")
    return Dropped(info.st_uid, name, lines)


def _find_problem(info: os.stat_result) -> str:
    if not stat.S_ISREG(info.st_mode):
        return "no regular file"
    if info.st_nlink != 1:
        return f"{info.st_nlink} links: a request has one"
    if info.st_mode & 0o022:
        return "others may write to it, so it may be another user's request"
    if info.st_size > MOST_BYTES:
        return f"{info.st_size:,} bytes: at most {MOST_BYTES:,} are taken"
    return ""
