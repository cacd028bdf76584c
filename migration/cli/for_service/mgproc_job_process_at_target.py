"""``mgproc GID``: the process of one job at its target; ``mgproc resume GID`` tries a given-up download again."""

from __future__ import annotations

import click

from migration.cli.for_service.open_site_as_service import open_site_as_service
from migration.cli.for_service.start_job_process import start_mgproc
from migration.cli.open_site_for_users import HELP
from migration.cli.printable_error_for_click import shown_problem
from migration.config.cluster_file import ClusterFileError
from migration.spool.spool import SpoolError
from migration.target_job.retry_given_up_download import CannotResumeError, resume
from migration.target_job.run_phases_of_job_at_target import process_jobs


@click.command(context_settings=HELP)
@click.argument("words", nargs=-1, required=True, metavar="[resume] GID")
def main(words: tuple[str, ...]) -> None:
    """Process a job of another cluster until nothing is to be done now, then others.

    It is started when a job is accepted, and by mgrecv. It may be killed and repeated; a second one for a job ends
    at once. It runs as the service's account. "resume" tries again to bring back the results of an Aborted job whose
    download was given up.
    """
    if len(words) != (2 if words[0] == "resume" else 1):
        raise click.UsageError("give the id of one job, or resume and the id")
    try:
        site = open_site_as_service()
        if words[0] == "resume":
            resume(site, words[1])
            start_mgproc(words[1])
        else:
            process_jobs(site, words[0])
    except (ClusterFileError, SpoolError, CannotResumeError, ValueError) as error:
        raise shown_problem(error) from error
