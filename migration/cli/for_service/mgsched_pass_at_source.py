"""``mgsched``: the source's pass, every minute; and ``--forget``, by which an administrator declares a target lost."""

from __future__ import annotations

import click

from migration.cli.for_service.open_this_cluster_as_source import errors_in_one_line, open_source
from migration.cli.open_site_for_users import HELP
from migration.passes.source.source_pass import BusyError, forget, pass_lock, source_pass

_FORGET_WITHIN_S = 120


@click.command("mgsched", context_settings=HELP)
@click.option("--forget", "gid", metavar="GID", help="Its target is lost: make it a request again.")
def main(*, gid: str | None) -> None:
    """Place the requests of this cluster's users, and update the states of their jobs.

    It runs every minute as the service's account; a second one ends at once. --forget is for a job whose target will
    never answer again: if that target still runs it, it runs twice.
    """
    with errors_in_one_line():
        source = open_source()
        if gid is not None:
            with pass_lock(source.spool.home, _FORGET_WITHIN_S):
                forget(source, gid)
            return
        try:
            with pass_lock(source.spool.home):
                source_pass(source)
        except BusyError as busy:
            click.echo(str(busy), err=True)
