"""``mgstop``: leaves a request to stop jobs in the drop box; the next pass sends it to the cluster where the job is."""

from __future__ import annotations

import click

from migration.cli.open_site_for_users import HELP, open_site_files, own_name
from migration.cli.printable_error_for_click import shown_problem
from migration.passes.source.take_in_submissions_and_stops import STOP_JOB
from migration.spool.drop_box import DropError, drop

_MOST_IN_FILE = 500
"""Requests that fit into one file of the drop box, however long their ids."""


@click.command("mgstop", context_settings=HELP)
@click.option("--discard", is_flag=True, help="Copy nothing back. Also ends a job that is Downloading.")
@click.argument("gids", nargs=-1, required=True, metavar="GID...")
def main(*, discard: bool, gids: tuple[str, ...]) -> None:
    """Stop jobs that were submitted with mgsub, on whichever cluster they are.

    The next pass, within a minute, carries the stop out. A job that no cluster has yet ends at once. A job at another
    cluster is deleted there, and the files in its folder there are copied back, unless --discard is given. If the
    cluster cannot be reached, each pass tries again, and mgstat says so. Only the job's user and root may stop it.
    """
    site = open_site_files()
    user = own_name()
    records = site.read_records()
    requests: list[dict[str, str | int | tuple[str, ...]]] = []
    for gid in dict.fromkeys(gids):
        if gid not in records:
            raise click.ClickException(f"{gid}: no such job; mgstat lists yours. Nothing is stopped")
        _, record = records[gid]
        if user not in (record.user, "root"):
            raise click.ClickException(f"{gid}: is a job of {record.user}. Nothing is stopped")
        if record.final:
            click.echo(f"{gid}: is {record.state} already")
        else:
            requests.append({"do": STOP_JOB, "gid": gid, "discard": int(discard)})
    if not requests:
        return
    try:
        for start in range(0, len(requests), _MOST_IN_FILE):
            drop(site.incoming, requests[start : start + _MOST_IN_FILE])
    except DropError as error:
        raise shown_problem(error) from error
    for request in requests:
        click.echo(f"{request['gid']}: stop requested")
