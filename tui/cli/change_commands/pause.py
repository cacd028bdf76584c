"""``pbsteer pause`` and ``pbsteer resume``: stop and resume starting and preempting jobs, from the next pass on."""

from __future__ import annotations

from typing import Any

import click

from tui.cli.change_commands.run_operation import operation_options, run_operation
from tui.operations.by_target.pause_ops import REASON
from tui.operations.by_target.pause_ops import pause as pause_operation
from tui.operations.by_target.pause_ops import resume as resume_operation


@click.command()
@operation_options
@click.option("--reason", default=REASON, help="The reason that every view and comment shows; up to 200 characters.")
def pause(*, reason: str, **options: Any) -> None:
    """Start and preempt nothing from the next pass on, in any mode, until pbsteer resume.

    Running jobs go on, passes still plan, and PBS's scheduler stays as it is: off for queues in drive. Shows the exact
    command, then asks. The change is read back and written to the audit file.
    """
    run_operation(lambda cluster, commands, _: pause_operation(cluster, commands, reason), **options)


@click.command()
@operation_options
def resume(**options: Any) -> None:
    """Let pbsteer start and preempt again, as the modes say, after pbsteer pause."""
    run_operation(lambda cluster, commands, _: resume_operation(cluster, commands), **options)
