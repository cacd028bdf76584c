"""Checks the folder of pbsteer's state, the sizes of what is in it, and the disk of PBS_HOME."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from hooks.store.state_files import LEDGER, OBSERVED_LEDGER, State
from policy.model.pbs_units import show_count
from tui.cli.doctor.finding import AS_ROOT, Finding, ok, unseen, warn, wrong

_MIB = 1 << 20
LOW_BYTES, FULL_BYTES = 1 << 30, 64 * _MIB
"""Free bytes on the disk of PBS_HOME below which it is low, and below which a pass may not be able to save."""

FEW_FILES = 1000
"""Free inodes below which the disk counts as full."""

LARGE_LEDGER_BYTES, LARGE_JOURNAL_BYTES = 64 * _MIB, 2 << 30
_ROOT_ONLY = (LEDGER, OBSERVED_LEDGER)
"""Files that only root may read, even where a group may read the others."""


def check_folder(folder: Path, *, group_may_read: bool, owner_id: int = 0) -> Iterator[Finding]:
    """Owner, mode and sizes of the folder and its files. ``group_may_read``: the setting server.journal_group names a
    group, or could not be read; ``owner_id``: the user that owns them, root but in tests."""
    try:
        own = folder.lstat()
        with os.scandir(folder) as entries:
            files = sorted((Path(entry.path), entry.stat(follow_symlinks=False)) for entry in entries)
    except FileNotFoundError:
        yield ok("state folder", f"{folder} is not there: no pass has run, or pbsteer was removed")
        return
    except NotADirectoryError:
        yield wrong("state folder", f"{folder} is no folder", f"look at it, and remove it: rm {folder}")
        return
    except OSError as error:
        yield unseen("state folder", f"{folder}: {error.strerror}", AS_ROOT)
        return
    if stat.S_ISLNK(own.st_mode):
        yield wrong("state folder", f"{folder} is a symbolic link", "see who made it, and remove it")
        return
    faults = [
        *_faults(folder, own, 0o750 if group_may_read else 0o700, owner_id),
        *(
            fault
            for path, found in files
            if stat.S_ISREG(found.st_mode)
            for fault in _faults(
                path, found, 0o640 if group_may_read and path.name not in _ROOT_ONLY else 0o600, owner_id
            )
        ),
    ]
    yield from faults[:5]
    if len(faults) > 5:
        yield wrong("state folder", f"{show_count(len(faults) - 5, 'further file')} with another owner or mode")
    if not faults:
        yield ok("state folder", f"{folder}, {show_count(len(files), 'file')}, only root may write")
    yield from _check_sizes(folder)


def _faults(path: Path, found: os.stat_result, mode: int, owner_id: int) -> Iterator[Finding]:
    if found.st_uid != owner_id:
        remedy = f"chown -h root {shlex.quote(str(path))}, and see how another user came to own it"
        yield wrong("state folder", f"{path} belongs to user {found.st_uid}, where root belongs", remedy)
    more = stat.S_IMODE(found.st_mode) & ~mode
    if more:
        text = f"{path} has mode {stat.S_IMODE(found.st_mode):04o}, where at most {mode:04o} belongs"
        yield wrong("state folder", text, f"chmod {stat.S_IMODE(found.st_mode) & mode:04o} {shlex.quote(str(path))}")


def _check_sizes(folder: Path) -> Iterator[Finding]:
    ledger = _size(folder / LEDGER)
    journal = sum(_size(path) for path in State(folder).journal_files())
    text = f"ledger {_show(ledger)}, journal {_show(journal)}"
    if journal > LARGE_JOURNAL_BYTES:
        yield warn("sizes", text, "keep fewer days of the journal: server.journal_days")
    elif ledger > LARGE_LEDGER_BYTES:
        yield warn("sizes", text, "report it: a ledger grows with the jobs in the server only")
    else:
        yield ok("sizes", text)


def check_disk(home: Path) -> Iterator[Finding]:
    """Room on the disk of PBS_HOME."""
    try:
        found = os.statvfs(home)
    except OSError as error:
        yield unseen("disk", f"{home}: {error.strerror}", AS_ROOT)
        return
    free = found.f_bavail * found.f_frsize
    text = f"{_show(free)} are free on the disk of {home}"
    if free < FULL_BYTES or (found.f_files and found.f_favail < FEW_FILES):
        files = f", for {show_count(found.f_favail, 'file')}" if found.f_files else ""
        yield wrong("disk", f"{text}{files}: a pass that cannot save does nothing", "make room there")
    elif free < LOW_BYTES:
        yield warn("disk", text, "make room there; server.journal_days keeps less")
    else:
        yield ok("disk", text)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _show(size: float) -> str:
    return f"{size / _MIB:,.1f} MiB" if size < LOW_BYTES else f"{size / LOW_BYTES:,.1f} GiB"
