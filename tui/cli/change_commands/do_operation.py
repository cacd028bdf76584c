"""``pbsteer do``: the operations on jobs, vnodes and queues, without a screen; one command for each verb.

Each command shows the exact commands and their effects on the jobs, asks for a confirmation by the rule of the screen,
checks that the values were not changed since, reads them back and writes the audit file.
"""

from __future__ import annotations

from typing import Any

import click

from tui.backends.interface.commands_interface import Commands
from tui.cli.change_commands.run_operation import operation_options, run_operation
from tui.cli.read_order_of_verb import read_order
from tui.operations.operation_registry import VERBS, Verb
from tui.operations.operation_type_and_preview import COMMAND_LINE, Operation
from tui.state.cluster_view import ClusterView


@click.group("do")
def do() -> None:
    """Hold, release, delete, requeue and move jobs, take vnodes out of use, switch queues: as on the screen.

    Shows the exact commands and which jobs would start, be preempted or wait by them, then asks. What ends work or has
    several targets asks for the target's name or the number of targets, a production server for its name too.

    Exit status: 0 if all was done (or previewed), 1 if something was not, 2 for a wrong command line or a server that
    cannot be reached.
    """


def _command(verb: Verb) -> click.Command:
    @click.command(
        verb.name,
        help=f"{verb.help[0].upper()}{verb.help[1:]}.\n\n{_second_paragraph(verb)}",
        # A negative number is a value, not an option.
        context_settings={"ignore_unknown_options": verb.value == "N"},
    )
    @click.argument("words", nargs=-1, required=True, metavar=verb.usage)
    @operation_options
    def command(*, words: tuple[str, ...], **options: Any) -> None:
        def prepare(cluster: ClusterView, commands: Commands, user: str) -> Operation:
            return verb.operation(cluster, commands, read_order(verb, words, cluster, user, COMMAND_LINE))

        run_operation(prepare, **options)

    made: click.Command = command
    return made


def _second_paragraph(verb: Verb) -> str:
    """The second paragraph of a command's help."""
    if verb.kind == "job":
        return "A JOB is an id, with or without the server's name; an array is 12[], one of its subjobs 12[3]."
    if verb.given:
        return f"Lists the jobs that run there and when they end; {verb.given} if you do not say."
    return f"Changes each {verb.kind} on the server, with your own rights there."


for _verb in VERBS:
    do.add_command(_command(_verb))
