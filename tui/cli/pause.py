"""``pbsteer pause`` and ``pbsteer resume``: stop and resume starting and preempting jobs, from the next pass on."""

from __future__ import annotations

from typing import Any

import click

from tui.cli.confirming import confirm_options
from tui.cli.make_change import change_one
from tui.cli.options import source_options
from tui.operations.operation import Operation
from tui.operations.operation_lines import deed_lines
from tui.operations.server_ops import REASON
from tui.operations.server_ops import pause as pause_operation
from tui.operations.server_ops import resume as resume_operation
from tui.state.cluster_view import ClusterView
from tui.text.lines import plain, safe


@click.command()
@source_options
@confirm_options
@click.option("--reason", default=REASON, help="Why, for everybody who looks; up to 200 characters.")
def pause(*, reason: str, **options: Any) -> None:
    """Start and preempt nothing from the next pass on, in any mode, until pbsteer resume.

    Jobs that run go on, passes go on to plan, and PBS's scheduler stays as it is: off for queues in drive. Shows the
    exact qmgr line, then asks. The change is read back afterwards, and written to the audit file.
    """
    change_one(lambda cluster: pause_operation(cluster, reason), _show, **options)


@click.command()
@source_options
@confirm_options
def resume(**options: Any) -> None:
    """Let pbsteer start and preempt again, as the modes say, after pbsteer pause."""
    change_one(resume_operation, _show, **options)


def _show(_: ClusterView, operation: Operation) -> None:
    for line in deed_lines(operation):
        click.echo(safe(plain(line)))
