"""The context of all programs of the service: cluster file, queue files, scheduler, and the root helper."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

from migration.as_user.call_root_helper import run_as
from migration.as_user.call_root_helper_session import HelperSession
from migration.config.cluster_file import ClusterFile, ClusterFileError
from migration.config.mg_home_folder import FILE, home
from migration.config.read_cluster_file import read_cluster_file
from migration.programs.program_search_path import set_path
from migration.schedulers.choose_scheduler import open_scheduler
from migration.schedulers.scheduler_interface import LocalScheduler
from migration.spool.spool import Spool
from migration.target_job.skip_users_with_hung_disks import PASS_SHARE_S, HungUsers
from migration.transfer.ssh_and_rsync_to_source import RunAs

Mark = tuple[int, ...]


@dataclass(frozen=True)
class Site:
    """One cluster, as its own service sees it. ``mark`` is that of the cluster file as it was read; None is never
    compared.
    """

    file: ClusterFile
    spool: Spool
    scheduler: LocalScheduler
    run: RunAs = run_as
    now: Callable[[], float] = time.time
    mark: Mark | None = None

    @property
    def home(self) -> Path:
        """The folder of the queue files."""
        return self.spool.home

    def renewed(self) -> Site:
        """The cluster as its file says now; this one where that is as it was. Raises ClusterFileError."""
        if self.mark is None or find_mark(self.home) == self.mark:
            return self
        mark, file = _read(self.home)
        scheduler = open_scheduler(file.this, HungUsers(self.run, self.home, self.now))
        return replace(self, file=file, scheduler=scheduler, mark=mark)

    def for_pass(self) -> Site:
        """The cluster for one pass, in which what is done as users has bounds, by the scheduler too. One that was not
        read from a file keeps its scheduler.
        """
        bounded = HungUsers(self.run, self.home, self.now, PASS_SHARE_S)
        if self.mark is None:
            return replace(self, run=bounded)
        return replace(self, run=bounded, scheduler=open_scheduler(self.file.this, bounded))

    @contextlib.contextmanager
    def working_for(self, gid: str) -> Iterator[None]:
        """Log operations as users in the block as done for this job."""
        if not isinstance(self.run, HelperSession):
            yield
            return
        before, self.run.job = self.run.job, gid
        try:
            yield
        finally:
            self.run.job = before


def find_mark(folder: Path) -> Mark | None:
    """A mark that differs between two contents of the cluster file; None where there is no file."""
    try:
        there = (folder / FILE).stat()
    except OSError:
        return None
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns


def open_site() -> Site:
    """This host's cluster. Raises SystemExit without a cluster file, ClusterFileError for one with problems."""
    set_path()
    folder = home()
    try:
        mark, file = _read(folder)
    except NoClusterFileError as error:
        raise SystemExit(str(error)) from error
    os.umask(0o022)
    session = HelperSession()
    bounded = HungUsers(session, folder, time.time)
    return Site(file, Spool(folder), open_scheduler(file.this, bounded), session, mark=mark)


class NoClusterFileError(ClusterFileError):
    """The cluster file is gone."""


def _read(folder: Path) -> tuple[Mark | None, ClusterFile]:
    # The mark comes first: of a file that is written meanwhile it is an older one, and the next look reads it again.
    mark = find_mark(folder)
    file = read_cluster_file(folder)
    if file is None:
        raise NoClusterFileError([f"{folder}: no cluster.toml: this site has no other clusters"])
    return mark, file
