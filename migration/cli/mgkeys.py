"""``mgkeys USER TYPE KEY``: sshd's AuthorizedKeysCommand for the service's account."""

from __future__ import annotations

import sys

from migration.config.cluster_file import read_cluster_file
from migration.config.mg_home_folder import home
from migration.programs.path import own_program
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from migration.transfer.authorized_keys import write_lines


def main() -> None:
    """Print the line for the key that is offered, if it is one of a cluster or of a job under way."""
    folder = home()
    file = read_cluster_file(folder)
    if file is None or len(sys.argv) != 4:
        return
    spool = Spool(folder)
    records = [*spool.read(Queue.SENT), *spool.read(Queue.DONE)]
    sys.stdout.writelines(write_lines(file, records, own_program, f"{sys.argv[2]} {sys.argv[3]}"))
