"""Checks the folder for a testbed: users can reach it, PBS trusts it, and its disk has room."""

from __future__ import annotations

import contextlib
import shutil
import stat
from pathlib import Path

from container.testbed_spec import TestbedError, TestbedSpec

_SERVER_MIB, _MOM_MIB = 150, 10
"""Disk space for the files of a server and of a MoM host, with some room to work."""


def check_parents(folder: Path) -> None:
    """Refuse a folder that users cannot enter, or one that is writable to all, like /tmp: there PBS's scheduler ends
    without a message.
    """
    for parent in list_parents(folder):
        mode = parent.stat().st_mode
        if not mode & stat.S_IXOTH:
            raise TestbedError(f"state folder {folder.parent}: {parent} is closed to users other than its owner")
        if mode & stat.S_IWOTH:
            raise TestbedError(
                f"state folder {folder.parent}: everybody may write to {parent}, and PBS trusts no files below such a"
                " folder; --state names another place"
            )


def list_parents(folder: Path) -> list[Path]:
    """The existing folders above a folder, the nearest first."""
    return [parent for parent in folder.parents if parent.is_dir()]


def make_parents(folder: Path) -> None:
    """Make the state folder; `TestbedError` says why that is not possible."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TestbedError(f"state folder {folder.parent} cannot be made: {error.strerror}") from error


def check_room(spec: TestbedSpec, folder: Path) -> None:
    """Refuse a disk that is too full for the server's data store to be created."""
    needed_mib = _SERVER_MIB + _MOM_MIB * spec.moms
    free_mib = shutil.disk_usage(folder.parent).free >> 20
    if free_mib < needed_mib:
        with contextlib.suppress(OSError):
            folder.parent.rmdir()
        raise TestbedError(
            f"state folder {folder.parent}: {free_mib:,} MiB of its disk are free, and a testbed of"
            f" {len(spec.hosts)} hosts needs {needed_mib:,}; --state names another place"
        )
