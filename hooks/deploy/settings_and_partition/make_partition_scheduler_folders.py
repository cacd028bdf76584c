"""The two folders in PBS_HOME that a partition's own scheduler needs: ``sched_priv_NAME`` with its configuration, and
``sched_logs_NAME``.

PBS makes neither, and ``pbs_sched -I NAME`` ends without them. They are made like those of the default scheduler: with
the same owner (root, or ``PBS_DAEMON_SERVICE_USER``), writable by the owner only, with a copy of its configuration.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from hooks.deploy.steps_between_server_states import Step

_KINDS = ("sched_priv", "sched_logs")
_CONFIGURATION = ("sched_config", "dedicated_time", "holidays", "resource_group")
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LONGEST = 1 << 20


def folders_of(home: Path, scheduler: str) -> tuple[Path, ...]:
    """Where PBS looks for the folders of a scheduler by default."""
    return tuple(home / f"{kind}_{scheduler}" for kind in _KINDS)


def steps_to_make(home: Path, schedulers: Iterable[str]) -> Iterator[Step]:
    """The steps that make the missing folders of these schedulers. None if the default scheduler has no folders here to
    copy: it then runs on another host, and so does a partition's."""
    for name in schedulers:
        for kind, path in zip(_KINDS, folders_of(home, name)):
            if (home / kind).is_dir() and not path.exists():
                yield Step(
                    path=path, like=home / kind, why=f"folders for scheduler {name}: pbs_sched -I {name} starts it"
                )


def steps_to_remove(home: Path, names: Iterable[str]) -> Iterator[Step]:
    """The steps that remove the folders that an earlier apply made."""
    paths = (home / name for name in sorted(names))
    yield from (Step(path=path, why="folders of our scheduler go") for path in paths if path.is_dir())


def make_folder(path: Path, like: Path) -> None:
    """Make a folder like that one, with its configuration. Raises OSError, and then leaves nothing."""
    model = like.stat()
    path.mkdir(mode=0o700)
    try:
        for name in _CONFIGURATION:
            _copy(like / name, path / name)
        path.chmod(stat.S_IMODE(model.st_mode) & ~_OTHERS_MAY_WRITE)
        os.chown(path, model.st_uid, model.st_gid)
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _copy(source: Path, target: Path) -> None:
    """Copy a file, its owner and its mode. Anything but a plain file of that folder is left out: if the folder is not
    root's, its owner could have us copy any file through a link."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(source.lstat().st_mode):
            return
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size > _LONGEST:
                return
            target.write_bytes(file.read(_LONGEST))
        target.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS_MAY_WRITE)
        os.chown(target, status.st_uid, status.st_gid)
