"""``pbsteer quota export`` and ``quota import``: all quotas and priorities as a table in a file, CSV or TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hooks.pbs.custom_resources import PRIORITY
from policy.model.limit_attributes import LimitError, parse_limits
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.cli.change_commands.run_operation import operation_options, run_operation
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, source_options
from tui.model.typed_attributes import SOFT_LIMIT
from tui.operations.by_target.soft_quota_priority_and_import_ops import check_scope, import_quotas
from tui.operations.operation_type_and_preview import Operation
from tui.quota_files.check_quota_rows_against_server import read_quotas
from tui.quota_files.parse_typed_quota import show_user
from tui.quota_files.table_file import FORMATS, TableError, write_table
from tui.state.cluster_view import ClusterView, execution_queues
from tui.state.typed_quota_scope_and_resource import SERVER
from tui.text.screen_line import safe

_COLUMNS = ("user", "queue", "resource", "quota")


@click.command("export", short_help="Print quotas and priorities as CSV or TOML.")
@click.argument("queues", nargs=-1, metavar="QUEUE...")
@click.option("--format", "kind", type=click.Choice(FORMATS), default="csv", show_default=True)
@source_options
def export_quotas(*, queues: tuple[str, ...], kind: str, demo: bool, server: str, settings_path: Path | None) -> None:
    """Print all quotas and priorities as a table, of these queues or of all and the server.

    Priorities are those of the resource user_priority. What is printed can be edited and given to quota import.
    """
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        cluster = poll_cluster_view(backend)
        names = [check_scope(cluster, queue) for queue in queues] or [*execution_queues(cluster), SERVER]
    except ChangeError as error:
        raise click.ClickException(safe(str(error))) from error
    finally:
        backend.close()
    rows, problems = _rows(cluster, names)
    click.echo(write_table(rows, _COLUMNS, kind), nl=False)
    for problem in problems:
        click.echo(safe(problem), err=True)
    if problems:
        raise SystemExit(1)


def _rows(cluster: ClusterView, names: list[str]) -> tuple[list[dict[str, str | int]], list[str]]:
    rows: list[dict[str, str | int]] = []
    problems: list[str] = []
    for name in names:
        status = cluster.server_status
        attributes = status.server if name == SERVER else status.queues[name]
        resources = [each[len(SOFT_LIMIT) :] for each in attributes if each.startswith(SOFT_LIMIT)]
        for resource in sorted(resources, key=lambda each: (each != cluster.counted, each == PRIORITY, each)):
            try:
                limits = parse_limits(attributes[SOFT_LIMIT + resource], f"left out: {name} {SOFT_LIMIT}{resource}")
            except LimitError as error:
                problems += error.problems
                continue
            for entity, quota in sorted(limits.entries.items()):
                rows.append({"user": show_user(entity), "queue": name, "resource": resource, "quota": quota})
    return rows, problems


@click.command("import", short_help="Set the quotas and priorities of a file.")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@operation_options
def import_(*, path: Path, **options: Any) -> None:
    """Set the quotas of FILE, a table with the columns user, queue, quota and, optionally, resource.

    CSV with the names of the columns in its first line, or TOML with [[quota]] for each row. quota none removes an
    entry; what is not in the file stays as it is. Any wrong row is named, and nothing is set. Shows what changes and
    which jobs it would start or preempt, then asks, as quota set does; some quotas at a time are compared, set and read
    back.
    """

    def prepare(cluster: ClusterView, commands: Commands, _: str) -> Operation:
        return import_quotas(cluster, commands, read_quotas(path, cluster, commands), str(path))

    try:
        run_operation(prepare, **options)
    except TableError as error:
        raise click.ClickException("nothing is set\n" + "\n".join(map(safe, error.problems))) from error
