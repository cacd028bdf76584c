"""``pbsteer quota show``, ``quota set`` and ``priority``: the quotas view and its dialog, without a screen.

The other commands of ``quota`` are in ``quota_plan`` and ``quota_export_and_import`` beside this.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import click

from hooks.pbs.custom_resources import PRIORITY
from policy.model.limit_attributes import EntityKey
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.cli.change_commands.quota_export_and_import import export_quotas, import_
from tui.cli.change_commands.quota_plan import plan, planned, withdraw
from tui.cli.change_commands.run_operation import operation_options, run_operation
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, source_options
from tui.operations.by_target.quota_plan_ops import entry_line
from tui.operations.by_target.soft_quota_priority_and_import_ops import check_scope, set_quota
from tui.operations.operation_type_and_preview import Operation
from tui.pages.cluster.status_command_data_and_text import quota_data
from tui.quota_files.parse_typed_quota import parse_entity, parse_quota
from tui.state.cluster_view import ClusterView
from tui.state.typed_quota_scope_and_resource import quota_scopes, scope_of
from tui.tables.column_layout import Widths, header, row
from tui.tables.columns import Sort
from tui.tables.columns_by_view.quota_rows_and_columns import planned_in, quota_columns, quota_rows
from tui.text.screen_line import plain, safe

_CELLS = 100


@click.group()
def quota() -> None:
    """Show soft quotas beside use, set them, or plan them for a span of time.

    Quotas live in PBS, on the queue or the server, as max_run_res_soft, where PBS's own commands show
    them. For QUEUE, @server names the whole cluster, and QUEUE:RESOURCE another resource, such as gpu:ngpus.
    """


@quota.command(short_help="Show use beside quota.")
@click.argument("queue", required=False)
@source_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object, by queue, instead of tables.")
def show(*, queue: str | None, demo: bool, server: str, settings_path: Path | None, as_json: bool) -> None:
    """Use beside quota of users, groups and projects, in QUEUE or in every queue; most over quota first.

    A quota marked * is the queue's entry for everyone else.
    """
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        cluster = poll_cluster_view(backend)
    finally:
        backend.close()
    try:
        names = [check_scope(cluster, queue)] if queue else quota_scopes(cluster)
    except ChangeError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({name: quota_data(cluster, name) for name in names}))
        return
    for name in names:
        rows = quota_rows(cluster, name)
        placed = Widths[EntityKey]().place(quota_columns(rows, _CELLS), list(rows), _CELLS)
        click.echo(f"{safe(name)} · {safe(scope_of(cluster, name).resource)}")
        click.echo("  " + plain(header(placed, Sort())).rstrip())
        for entity in rows:
            click.echo("  " + plain(row(placed, entity)).rstrip())
        for each in chain.from_iterable(planned_in(cluster, scope_of(cluster, name)).values()):
            click.echo(safe(f"  planned: {entry_line(each.entry)}: {each.state}"))


for _each in (plan, planned, withdraw, export_quotas, import_):
    quota.add_command(_each)

_NEGATIVE_IS_A_VALUE = {"ignore_unknown_options": True}
"""``-5`` is then refused as a value and not as an unknown option."""


@quota.command("set", context_settings=_NEGATIVE_IS_A_VALUE)
@click.argument("queue")
@click.argument("user")
@click.argument("cores")
@operation_options
def set_(*, queue: str, user: str, cores: str, **options: Any) -> None:
    """Set USER's soft quota in QUEUE to CORES, or to none.

    Shows the exact command and which jobs it would start or preempt, then asks. It is refused if the value changed
    meanwhile, is read back afterwards, and is written to the audit file. A group is g:NAME.
    """
    _set(queue, user, cores, "quota", "", **options)


@click.command(context_settings=_NEGATIVE_IS_A_VALUE)
@click.argument("queue")
@click.argument("user")
@click.argument("number", metavar="N")
@operation_options
def priority(*, queue: str, user: str, number: str, **options: Any) -> None:
    """Set USER's priority in QUEUE to N, or to none: higher classes preempt lower ones.

    Priorities live in PBS, on the queue, as max_run_res_soft.user_priority. Shows the exact command and which jobs it
    would start or preempt, then asks, as quota set does. A group is g:NAME.
    """
    _set(queue, user, number, "priority", PRIORITY, **options)


def _set(queue: str, user: str, number: str, what: str, resource: str, **options: Any) -> None:
    def prepare(cluster: ClusterView, commands: Commands, _: str) -> Operation:
        entity = parse_entity(commands, user)
        return set_quota(cluster, commands, queue, entity, parse_quota(number, what), resource)

    run_operation(prepare, **options)
