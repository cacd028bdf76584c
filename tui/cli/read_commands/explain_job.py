"""``pbsteer explain``: why one job waits, or where it runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import click

from policy.explain.hostfiles_for_mpi_and_openmp import Lists
from tui.cli.read_commands.named_job import named_job
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, source_options
from tui.model.reservation_of_queue import reservation_of
from tui.pages.job.collect_job_details import detail_of
from tui.pages.job.job_explanation import explanation_data, lists_of_job
from tui.pages.job.job_page import job_lines
from tui.pages.job.subjob_counts_line import subjobs_data
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import plain

FORMS = tuple(field.replace("_", "-") for field in Lists._fields)
"""The names of the forms that ``explain --list`` writes."""


@click.command()
@click.argument("job")
@source_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
@click.option(
    "--list", "form", type=click.Choice(FORMS), help="Instead: where it runs or would start, as programs read it."
)
def explain(*, job: str, demo: bool, server: str, settings_path: Path | None, as_json: bool, form: str | None) -> None:
    """Why JOB waits, what was tried for it, and what would have to change.

    JOB is a job's id, with or without the server's name. The answer is the policy's own, decided now on the server's
    present state; for a running job it says where it runs. With --list only that is printed: the ranked list of its
    vnodes (with sockets and cores where it asked for them), a PBS node file, a hostfile for Open MPI or MPICH, or the
    OpenMP places on each vnode.
    """
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        cluster = poll_cluster_view(backend)
        found = named_job(cluster, job, backend)
        detail = detail_of(backend, found) if form is None and not as_json else None
    finally:
        backend.close()
    if form is not None:
        text = _list(cluster, found, form)
        data = json.dumps({"job": found, "list": form, "lines": text.splitlines()}) + "\n"
        click.echo(data if as_json else text, nl=False)
        return
    if as_json:
        click.echo(json.dumps({**explanation_data(cluster, found), **subjobs_data(cluster, found)}))
        return
    for line in job_lines(cluster, found, shutil.get_terminal_size((100, 24)).columns, detail):
        click.echo(plain(line).rstrip())


def _list(cluster: ClusterView, job_id: str, form: str) -> str:
    """A job's list in one form. Raises ClickException where there is no such list, or one for each subjob."""
    try:
        lists = lists_of_job(cluster, job_id)
    except ValueError as error:
        raise click.ClickException(f"job {job_id}: {error}") from error
    reservation = reservation_of(cluster.server_status, cluster.server_status.jobs[job_id].get("queue", ""))
    if reservation is not None:
        raise click.ClickException(
            f"job {job_id} is in {reservation.describe(cluster.now_s)}: only PBS lists its vnodes"
        )
    if not lists:
        raise click.ClickException(f"job {job_id} neither runs nor would start now: it has no vnodes to list")
    if len(lists) > 1:
        raise click.ClickException(f"job {job_id} has a list for each subjob: name one of {', '.join(sorted(lists))}")
    text: str = getattr(next(iter(lists.values())), form.replace("-", "_"))
    if not text:
        raise click.ClickException(f"job {job_id} has nothing to list as {form}: it asked for no such list")
    return text
