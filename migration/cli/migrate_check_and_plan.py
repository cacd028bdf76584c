"""``pbsteer migrate``: checks for administrators whether clusters can exchange jobs, and shows what a pass would do."""

from __future__ import annotations

import json

import click

from migration.as_user.call_root_helper import run_as
from migration.cli.for_service.open_this_cluster_as_source import errors_in_one_line, open_source
from migration.passes.check_setup_with_other_clusters import check_pairs
from migration.passes.source.source_pass import plan
from migration.spool.queue_file import Queue
from policy.model.printable_text import printable

_json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group()
def migrate() -> None:
    """Jobs that go to other clusters of the site, and come back with their results.

    Users have mgsub, mgstat and mgstop. These commands run as the service's account, such as with sudo -u mg.
    """


@migrate.command("check", short_help="Test that every cluster can exchange jobs with this one.")
@click.option(
    "--user",
    required=True,
    help="A user of this cluster, to test whether that user can write into the landing folders.",
)
@_json_option
@click.pass_context
def check_command(ctx: click.Context, *, user: str, as_json: bool) -> None:
    """Try every cluster: reach, scheduler, clock, version, and the landing folders.

    Run it on each cluster: it sees one direction of each pair. The exit status is 1 if anything is wrong.
    """
    with errors_in_one_line():
        found = list(check_pairs(open_source(), run_as, user))
    if as_json:
        click.echo(json.dumps([one._asdict() for one in found], indent=1))
    else:
        for one in found:
            click.echo(printable(f"{'good ' if one.good else 'WRONG'}  {one.cluster}: {one.what}: {one.text}"))
    ctx.exit(0 if all(one.good for one in found) else 1)


@migrate.command("plan", short_help="Show what a pass would do now; change nothing.")
@_json_option
def plan_command(*, as_json: bool) -> None:
    """What a pass would do with the requests as they are now: what would go where, and why the rest would stay.

    Clusters are asked what is free; nothing is offered, started or written.
    """
    with errors_in_one_line():
        source = open_source()
        placements = plan(source)
        records = {record.gid: record for record in source.spool.read(Queue.REQUEST)}
    rows = []
    for gid, record in records.items():
        to = placements.placed.get(gid, "")
        stay = placements.stays.get(gid)
        why = stay.sentence() if stay else "stopped" if gid in placements.stopped else ""
        rows.append({"gid": gid, "user": record.user, "cores": record.cores, "to": to, "why": why})
    if as_json:
        click.echo(json.dumps(rows, indent=1))
        return
    for row in rows:
        does = f"would go to {row['to']}" if row["to"] else f"would stay: {row['why']}"
        click.echo(printable(f"{row['gid']}  {row['user']}  {row['cores']} cores  {does}"))
    click.echo(f"{len(rows)} requests, {len(placements.placed)} would go")
