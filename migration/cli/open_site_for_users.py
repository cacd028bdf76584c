"""Opens this site for the users' programs: the cluster file, the queue files, and the notes of the last pass."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import NamedTuple

import click

from migration.cli.printable_error_for_click import shown_problem
from migration.config.cluster_file import ClusterFile, ClusterFileError
from migration.config.mg_home_folder import home
from migration.config.read_cluster_file import read_cluster_file
from migration.spool.queue_file import Queue
from migration.spool.read_jobs_without_lock import OWN_JOBS, newest_copies
from migration.spool.spool import INCOMING, Spool, SpoolError
from policy.migration.job_record_and_copy_updates import Record

HELP = {"help_option_names": ["-h", "--help"]}


class SiteFiles(NamedTuple):
    """The folder of this site's files, and its cluster file."""

    home: Path
    file: ClusterFile

    @property
    def incoming(self) -> Path:
        """The drop box."""
        return self.home / INCOMING

    def read_records(self) -> dict[str, tuple[Queue, Record]]:
        """The jobs of this cluster's users. Of one that stands in two files while it is moved, the newer copy."""
        try:
            found = newest_copies(Spool(self.home), OWN_JOBS)
        except SpoolError as error:
            raise shown_problem(error) from error
        return {gid: one for gid, one in found.items() if one[1].src == self.file.this.name}


def open_site_files() -> SiteFiles:
    """The site's files. Raises click.ClickException where there are none, or cluster.toml has problems."""
    folder = home()
    try:
        file = read_cluster_file(folder)
    except ClusterFileError as error:
        raise shown_problem(error) from error
    if file is None:
        raise click.ClickException(f"{folder}: no cluster.toml: this site has no other clusters")
    return SiteFiles(folder, file)


def own_name() -> str:
    """The user who runs this."""
    return pwd.getpwuid(os.getuid()).pw_name
