"""``mgrecv``: the target's pass, every minute."""

from __future__ import annotations

from contextlib import nullcontext

import click

from migration.cli.for_service.open_site_as_service import open_site_as_service
from migration.cli.for_service.start_job_process import start_mgproc
from migration.cli.open_site_for_users import HELP
from migration.cli.printable_error_for_click import shown_problem
from migration.config.cluster_file import ClusterFileError
from migration.config.mg_home_folder import home
from migration.passes.early_pass import TARGET, early_pass
from migration.passes.target.target_pass_starts_processes_and_cleans_up import run_target_pass
from migration.spool.spool import SpoolError
from policy.model.printable_text import printable


@click.command(context_settings=HELP)
@click.option("--early", is_flag=True, help="A pass before its minute: not sooner than 10 s after the last such one.")
def main(*, early: bool) -> None:
    """Look after the jobs that other clusters have handed to this one.

    It runs every minute as the service's account; a second one ends at once.
    """
    try:
        with early_pass(home(), TARGET) if early else nullcontext():
            message = run_target_pass(open_site_as_service(), start_mgproc)
    except (ClusterFileError, SpoolError, OSError) as error:
        raise shown_problem(error) from error
    if message:
        click.echo(printable(message), err=True)
