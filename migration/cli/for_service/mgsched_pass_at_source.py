"""``mgsched``: the source's pass, every minute. With ``--forget`` an administrator declares a target lost."""

from __future__ import annotations

from contextlib import nullcontext

import click

from migration.cli.for_service.open_this_cluster_as_source import errors_in_one_line, open_source
from migration.cli.open_site_for_users import HELP
from migration.config.mg_home_folder import home
from migration.passes.early_pass import SOURCE, early_pass
from migration.passes.source.source_pass import BusyError, forget, pass_lock, source_pass

_FORGET_WITHIN_S = 120
_EARLY_WITHIN_S = 60


@click.command("mgsched", context_settings=HELP)
@click.option("--forget", "gid", metavar="GID", help="Its target is lost: make it a request again.")
@click.option("--early", is_flag=True, help="A pass before its minute: not sooner than 10 s after the last such one.")
def main(*, gid: str | None, early: bool) -> None:
    """Place the requests of this cluster's users, and update the states of their jobs.

    It runs every minute as the service's account; a second one ends at once. --forget is for a job whose target will
    never answer again: if that target still runs it, it runs twice.
    """
    with errors_in_one_line(), early_pass(home(), SOURCE) if early else nullcontext():
        source = open_source()
        if gid is not None:
            with pass_lock(source.spool.home, _FORGET_WITHIN_S):
                forget(source, gid)
            return
        try:
            with pass_lock(source.spool.home, _EARLY_WITHIN_S if early else 0):
                source_pass(source)
        except BusyError as busy:
            click.echo(str(busy), err=True)
