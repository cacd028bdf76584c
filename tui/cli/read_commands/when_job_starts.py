"""``pbsteer when``: when a waiting job, or one that is not submitted yet, will start.

Every user may call it, so it asks the server for nothing that not every user may read.
"""

from __future__ import annotations

import getpass
import json
import shutil
from pathlib import Path

import click

from tui.cli.read_commands.named_job import named_job
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, source_options
from tui.forecast.job_not_submitted_yet import ProposedJobError, complete, read_resources
from tui.forecast.past_runs_to_forecast_from import learn
from tui.forecast.when_it_starts import when_it_starts, when_submitted
from tui.model.reservation_of_queue import reservation_of
from tui.pages.job.job_start_forecast_lines import (
    imagined_data,
    imagined_lines,
    is_running,
    reserved_data,
    reserved_lines,
    running_data,
    running_lines,
    when_data,
    when_lines,
)
from tui.text.screen_line import plain


@click.command()
@click.argument("job", required=False)
@click.option(
    "-l",
    "resources",
    multiple=True,
    metavar="NAME=VALUE",
    help="Instead of JOB: a resource request as at submission; repeatable.",
)
@click.option("-q", "queue", default="", metavar="QUEUE", help="With -l: the queue. [the server's default queue]")
@click.option("-u", "user", default="", metavar="USER", help="With -l: for this user. [you]")
@click.option("--fresh", is_flag=True, help="Forecast now, also where passes have published a forecast.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=20.0,
    show_default=True,
    help="The processor time that a forecast made now may take.",
)
@source_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def when(
    *,
    job: str | None,
    resources: tuple[str, ...],
    queue: str,
    user: str,
    fresh: bool,
    seconds: float,
    demo: bool,
    server: str,
    settings_path: Path | None,
    as_json: bool,
) -> None:
    """When JOB will start; with -l, -q and -u, when a job submitted now would start.

    Three moments: it starts before the first in half of the cases, before the second in nine of ten, and by the third
    if all jobs run as long as they asked for. They come from the forecast that passes publish, if you may read it, it
    is at most 15 minutes old and it knows the job; else from one made now on what the server shows you. The last line
    says which, how old it is, and how many past runs it goes by. For a job that is not submitted it also says
    what would start sooner: half the walltime, half as many chunks, another queue.
    """
    if (job is None) == (not resources):
        raise click.UsageError("give either JOB, or a request: -l select=2:ncpus=8 -l walltime=4:00:00")
    if job is not None and (queue or user):
        raise click.UsageError("-q and -u belong to -l: JOB has its queue and its user")
    try:
        asked = read_resources(resources) if resources else {}
    except ProposedJobError as error:
        raise click.UsageError(str(error)) from error
    cells = shutil.get_terminal_size((100, 24)).columns
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        cluster = poll_cluster_view(backend)
        if job is None:
            try:
                proposed = complete(cluster, asked, queue, user or getpass.getuser())
            except ProposedJobError as error:
                raise click.ClickException(str(error)) from error
            imagined = when_submitted(cluster, proposed, asked, learn(backend), seconds)
            data, lines = imagined_data(cluster, imagined), imagined_lines(cluster, imagined, cells)
        else:
            job_id = named_job(cluster, job, backend)
            reservation = reservation_of(cluster.server_status, cluster.server_status.jobs[job_id].get("queue", ""))
            if is_running(cluster, job_id):
                data, lines = running_data(cluster, job_id), running_lines(cluster, job_id, cells)
            elif reservation is not None:
                data = reserved_data(cluster, job_id, reservation)
                lines = reserved_lines(cluster, job_id, reservation, cells)
            else:
                answer = when_it_starts(cluster, job_id, lambda: learn(backend), seconds, fresh=fresh)
                data, lines = when_data(cluster, job_id, answer), when_lines(cluster, job_id, answer, cells)
    finally:
        backend.close()
    if as_json:
        click.echo(json.dumps(data))
        return
    for line in lines:
        click.echo(plain(line).rstrip())
