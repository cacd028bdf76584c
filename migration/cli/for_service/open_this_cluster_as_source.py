"""Opens this cluster as a source, for the programs that the service's account runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from migration.cli.for_service.open_site_as_service import open_site_as_service
from migration.cli.printable_error_for_click import shown_problem
from migration.config.cluster_file import ClusterFileError
from migration.passes.source.notes_on_other_clusters import read_notes
from migration.passes.source.run_at_source_job_script import HomeFolders
from migration.passes.source.source_context import Source
from migration.passes.source.source_pass import BusyError
from migration.programs.converse_with_program import Conversation
from migration.programs.run_external_program_with_limits import run
from migration.protocol.ask_cluster_over_ssh import SshCall
from migration.schedulers.choose_scheduler import open_scheduler
from migration.spool.spool import SpoolError
from migration.target_job.skip_users_with_hung_disks import PASS_SHARE_S, HungUsers
from policy.model.printable_text import printable


def open_source() -> Source:
    """This cluster. Raises click.ClickException if this is not the account to which MG_HOME belongs."""
    site = open_site_as_service()
    bounded = HungUsers(site.run, site.home, site.now, PASS_SHARE_S)
    return Source(
        site.spool, site.file, SshCall(run, site.file.limits.ssh_timeout_s, Conversation),
        open_scheduler(site.file.at_home, bounded), HomeFolders(bounded), read_notes(site.home),
        say=lambda text: click.echo(printable(text)),
    )  # fmt: skip


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turns errors of the cluster file, the spool and the system into one message of the command."""
    try:
        yield
    except (ClusterFileError, SpoolError, BusyError, OSError, ValueError) as error:
        raise shown_problem(error) from error
