"""Removes a folder, as its user, within limits on entries and time, whatever is in it.

A subfolder is moved up before it is emptied, so no tree is too deep, and closed folders are opened. A call that reaches
a limit reports what is left, and the next call continues.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from typing import Callable, NamedTuple

MOST_ENTRIES = 200_000
WITHIN_S = 8.0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOVED = ".mg-left-"


class NotRemoved(NamedTuple):
    """What is left of a folder: entries that cannot be removed, and the first of them; or only more than the bounds
    allow at once."""

    stuck: int
    first: str

    @property
    def text(self) -> str:
        """The rest in words, for a message."""
        if self.stuck:
            return f"{self.stuck} entries cannot be removed, such as {self.first}"
        return f"has more than {MOST_ENTRIES:,} entries, or they take more than {WITHIN_S:.0f} s"


class _BoundReachedError(Exception):
    """The limit of this call is reached."""


def open_folder_to_empty(name: str, above: int) -> int:
    """A descriptor of the user's own folder in ``above``, opened to its user if it is closed. Raises OSError."""
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=above)
        return os.open(name, _FOLDER, dir_fd=above)


def remove_folder(name: str, above: int) -> NotRemoved | None:
    """Remove the folder in ``above``; None once it is gone. Raises OSError for one that cannot be opened, or upon which
    another file system is mounted.
    """
    if _rmdir(name, above):
        return None
    sweep = _Sweep(open_folder_to_empty(name, above))
    try:
        while sweep.empty_top():
            pass
    except _BoundReachedError:
        return NotRemoved(0, "")
    finally:
        os.close(sweep.top)
    if not sweep.stuck:
        os.rmdir(name, dir_fd=above)
        return None
    return NotRemoved(sweep.stuck, sweep.first)


class _Sweep:
    """Empties the folder ``top``, as far as the bounds allow."""

    def __init__(self, top: int) -> None:
        self.top = top
        self.stuck, self.first = 0, ""
        self._left = MOST_ENTRIES
        self._until_s = time.monotonic() + WITHIN_S
        self._moved = 0

    def empty_top(self) -> bool:
        """Go through the folder once; whether that changed anything. Raises _BoundReachedError."""
        before, self.stuck, self.first = self._left, 0, ""
        os.fchmod(self.top, 0o700)
        with os.scandir(self.top) as found:
            for entry in found:
                self._remove(entry, self.top, self._empty, "")
        return self._left < before

    def _remove(self, entry: os.DirEntry[str], folder: int, other: Callable[[str, int], None], below: str) -> None:
        """Remove an entry; with a folder that is not empty, do the ``other``."""
        try:
            if not entry.is_dir(follow_symlinks=False):
                self._unlink(entry.name, folder)
            elif not self._rmdir(entry.name, folder):
                other(entry.name, folder)
        except OSError as error:
            self.stuck += 1
            self.first = self.first or f"{below + entry.name!r:.200}: {error.strerror}"
            if time.monotonic() >= self._until_s:
                raise _BoundReachedError from error

    def _empty(self, name: str, top: int) -> None:
        """Empty a folder in the top one; those in it are moved up."""
        folder = open_folder_to_empty(name, top)
        try:
            os.fchmod(folder, 0o700)
            with os.scandir(folder) as found:
                for entry in found:
                    self._remove(entry, folder, self._move_up, f"{name}/")
        finally:
            os.close(folder)
        self._rmdir(name, top)

    def _move_up(self, name: str, folder: int) -> None:
        os.chmod(name, 0o700, dir_fd=folder)
        while True:
            self._moved += 1
            try:
                os.rename(name, f"{_MOVED}{self._moved}", src_dir_fd=folder, dst_dir_fd=self.top)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
            else:
                self._count()
                return

    def _unlink(self, name: str, folder: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
            self._count()

    def _rmdir(self, name: str, folder: int) -> bool:
        gone = _rmdir(name, folder)
        if gone:
            self._count()
        return gone

    def _count(self) -> None:
        self._left -= 1
        if self._left <= 0 or time.monotonic() >= self._until_s:
            raise _BoundReachedError


def _rmdir(name: str, folder: int) -> bool:
    """Whether the folder was empty, and is gone. Raises OSError, also for one upon which a file system is mounted."""
    try:
        os.rmdir(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True
