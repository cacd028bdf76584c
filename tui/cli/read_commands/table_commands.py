"""``pbsteer jobs``, ``vnodes``, ``queues``, ``quotas``: the console's tables without a screen, to read or to process.

Rows, columns, filter and sort are those of the console. The default columns do not depend on a user's choices in the
console, so that a script gets the same everywhere.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tui.backends.interface.commands_interface import ChangeError
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, source_options
from tui.operations.by_target.soft_quota_priority_and_import_ops import check_scope
from tui.state.cluster_view import ClusterView
from tui.tables.cli_table_rows_and_columns import LISTINGS, Listing
from tui.tables.cli_table_rows_and_columns import quotas as quota_listing
from tui.tables.column_layout import Widths, header, row
from tui.tables.columns import Sort, changed_choice
from tui.tables.export_table import ExportError, Origin, as_csv, as_data, as_text, kind_of, write_new
from tui.tables.filter_line import FilterError
from tui.text.screen_line import plain

F = TypeVar("F", bound=Callable[..., Any])
_CELLS = 160
"""Width of a line where there is no terminal."""


def _table_options(command: F) -> F:
    for option in (
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Write to FILE.csv or FILE.json, which must not be there yet.",
        ),
        click.option("--json", "as_json", is_flag=True, help="One JSON object, with all rows."),
        click.option("--csv", "comma", is_flag=True, help="CSV with a header line."),
        click.option("--sort", "sort", metavar="COLUMN", default="", help="Sort by this column; -COLUMN: most first."),
        click.option("--filter", "filter_text", metavar="FILTER", default="", help="As / in the console: state:Q|H."),
        click.option(
            "--columns", metavar="LIST", default="", help="NAME,NAME,... or +NAME,-NAME; also PBS's attributes."
        ),
    ):
        command = option(command)
    return source_options(command)


def _command(name: str, help_: str) -> click.Command:
    @click.command(name, help=help_)
    @_table_options
    def command(**options: Any) -> None:
        _print(name, LISTINGS[name], **options)

    made: click.Command = command
    return made


_DATA = """Columns, filter and order are the console's. Data (--csv, --json, -o) have numbers as numbers, times in
seconds and sizes in KiB; in CSV a text that a spreadsheet would take for a formula begins with an apostrophe."""

jobs = _command("jobs", f"Jobs and arrays: what runs, what waits in the plan's order, what is held.\n\n{_DATA}")
vnodes = _command("vnodes", f"Vnodes: state, cores, memory, and the jobs there.\n\n{_DATA}")
queues = _command("queues", f"Queues: what runs and waits, and what the head of each waits for.\n\n{_DATA}")


@click.command(
    help=f"Use and quota of users, groups and projects, in QUEUE or in every queue; most over quota first.\n\n{_DATA}"
)
@click.argument("queue", required=False)
@_table_options
def quotas(*, queue: str | None, **options: Any) -> None:
    """The quotas of one queue, or of all."""

    def listing(cluster: ClusterView) -> Listing[Any]:
        return quota_listing(cluster, check_scope(cluster, queue) if queue else "", _cells())

    _print("quotas", listing, **options)


def _print(
    name: str,
    listing_of: Callable[[ClusterView], Listing[Any]],
    *,
    columns: str,
    filter_text: str,
    sort: str,
    comma: bool,
    as_json: bool,
    output: Path | None,
    demo: bool,
    server: str,
    settings_path: Path | None,
) -> None:
    if comma + as_json + (output is not None) > 1:
        raise click.UsageError("--csv, --json and -o: give one of them")
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        cluster = poll_cluster_view(backend)
    finally:
        backend.close()
    try:
        kind = kind_of(output) if output is not None else ""
        listing = listing_of(cluster)
        names = listing.usual_names()
        if columns:
            names = list(changed_choice(names, columns.split(","), names[-1]))
        shown = listing.chosen(names or listing.usual_names())
        order = Sort(sort.removeprefix("-"), sort.startswith("-"))
        keys = listing.arranged(filter_text, order)
        about = Origin(cluster.server_name, cluster.now_s, name, filter_text, sort)
        if output is not None:
            write_new(output, as_text(kind, shown, keys, about), overwrite=False)
            return
    except (FilterError, ExportError, ChangeError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(as_data(shown, keys, about)))
    elif comma:
        click.echo(as_csv(shown, keys), nl=False)
    else:
        placed = Widths[Any]().place(shown, keys, _cells())
        click.echo(plain(header(placed, order)).rstrip())
        for key in keys:
            click.echo(plain(row(placed, key)).rstrip())


def _cells() -> int:
    return shutil.get_terminal_size((_CELLS, 24)).columns if sys.stdout.isatty() else _CELLS
