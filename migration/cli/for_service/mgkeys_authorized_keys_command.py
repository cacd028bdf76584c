"""``mgkeys USER TYPE KEY``: sshd's AuthorizedKeysCommand for the service's account."""

from __future__ import annotations

import sys

from migration.config.cluster_file import PUBLISHED_KEY
from migration.config.mg_home_folder import home
from migration.config.read_cluster_file import read_cluster_file
from migration.programs.program_search_path import own_program
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from migration.transfer.forced_command_keys_of_clusters_and_jobs import write_lines


def main() -> None:
    """Print the line for the key that is offered, if it is one of a cluster or of a job under way."""
    offered = " ".join(sys.argv[2:])
    # Any client of sshd may offer any number of keys: a key that is not ours costs no look at the files.
    if len(sys.argv) != 4 or not PUBLISHED_KEY.fullmatch(offered):
        return
    folder = home()
    file = read_cluster_file(folder)
    if file is None:
        return
    record = Spool(folder).find(Queue.SENT, "datakey", offered)
    sys.stdout.writelines(write_lines(file, [] if record is None else [record], own_program, offered))
