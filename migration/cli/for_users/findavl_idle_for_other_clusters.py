"""``findavl``: what is free at this cluster for jobs of other clusters, as in its answers to them."""

from __future__ import annotations

import json

import click

from migration.cli.open_site_for_users import HELP
from migration.cli.printable_error_for_click import shown_problem
from migration.config.cluster_file import ClusterFileError
from migration.passes.target.answer_avail_accept_query_withdraw_stop import serve
from migration.protocol.questions import AVAIL
from migration.protocol.replies import Failed
from migration.spool.spool import SpoolError
from migration.target_job.service_context import open_site
from policy.migration.available_to_other_clusters import Answer


@click.command(context_settings=HELP)
@click.option("--json", "as_json", is_flag=True, help="Print the one line that other clusters get.")
def main(as_json: bool) -> None:
    """Show what is idle here for jobs of other clusters, as in the answers to them.

    It runs as the service's account, such as with sudo -u mg.
    """
    try:
        site = open_site()
        answer = serve(site, site.file.this.name, AVAIL, b"")
    except (ClusterFileError, SpoolError) as error:
        raise shown_problem(error) from error
    if isinstance(answer, Failed) or not isinstance(answer, Answer):
        raise shown_problem(answer.text if isinstance(answer, Failed) else "no answer")
    if as_json:
        click.echo(json.dumps(answer.to_data()))
        return
    if answer.paused:
        click.echo(f"{answer.cluster}: takes no jobs of other clusters at the moment (pause_taking_from)")
    click.echo(f"{answer.cluster}: {answer.avail} of {answer.cores} cores for any job, {answer.idle} idle")
    click.echo(f"  of the idle cores: {answer.earmarked} earmarked for jobs that preempted others,")
    click.echo(f"  {answer.reserved} reserved for the head, {answer.in_flight} promised to jobs on their way here")
    click.echo(f"  {answer.slots} more jobs may be on their way here")
    if answer.head_in_s is not None:
        click.echo(f"  {answer.avail_before_head} for jobs that end within {answer.head_in_s} s")
