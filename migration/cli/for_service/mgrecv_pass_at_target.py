"""``mgrecv``: the target's pass, every minute."""

from __future__ import annotations

import click

from migration.cli.for_service.open_site_as_service import open_site_as_service
from migration.cli.for_service.start_job_process import start_mgproc
from migration.cli.open_site_for_users import HELP
from migration.cli.printable_error_for_click import shown_problem
from migration.config.cluster_file import ClusterFileError
from migration.passes.target.target_pass_starts_processes_and_cleans_up import run_target_pass
from migration.spool.spool import SpoolError
from policy.model.printable_text import printable


@click.command(context_settings=HELP)
def main() -> None:
    """Look after the jobs that other clusters have handed to this one.

    It runs every minute as the service's account; a second one ends at once.
    """
    try:
        said = run_target_pass(open_site_as_service(), start_mgproc)
    except (ClusterFileError, SpoolError) as error:
        raise shown_problem(error) from error
    if said:
        click.echo(printable(said), err=True)
