"""What every program of the service works with: the cluster file, the queue files, the scheduler, and other users."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from migration.as_user.call_root_helper import run_as
from migration.as_user.call_root_helper_session import HelperSession
from migration.config.cluster_file import ClusterFile, read_cluster_file
from migration.config.mg_home_folder import home
from migration.programs.program_search_path import set_path
from migration.schedulers.choose_scheduler import open_scheduler
from migration.schedulers.scheduler_interface import LocalScheduler
from migration.spool.spool import Spool
from migration.target_job.skip_users_with_hung_disks import HungUsers
from migration.transfer.ssh_and_rsync_to_source import RunAs


@dataclass(frozen=True)
class Site:
    """One cluster, as its own service sees it."""

    file: ClusterFile
    spool: Spool
    scheduler: LocalScheduler
    run: RunAs = run_as
    now: Callable[[], float] = time.time

    @property
    def home(self) -> Path:
        """The folder of the queue files."""
        return self.spool.home


def open_site() -> Site:
    """This host's cluster. Raises SystemExit without a cluster file, ClusterFileError for one with problems."""
    set_path()
    folder = home()
    file = read_cluster_file(folder)
    if file is None:
        raise SystemExit(f"{folder}: no cluster.toml: this site has no other clusters")
    os.umask(0o022)
    session = HelperSession()
    bounded = HungUsers(session, folder, time.time)
    return Site(file, Spool(folder), open_scheduler(file.this, bounded), session)
