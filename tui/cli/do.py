"""``pbsteer do``: the operations on jobs, vnodes and queues, without a screen; one command for each verb.

Each command shows the exact PBS commands and their effects on the jobs, asks for a confirmation by the rule of the
screen, checks that the values were not changed since, reads them back and writes the audit file.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click

from tui.audit.log import Actor
from tui.cli.confirming import confirm_options, demand_confirmation
from tui.cli.make_change import open_audit
from tui.cli.options import look, open_backend, source_options
from tui.operations.change import ChangeError, Outcome, make_all
from tui.operations.operation import Operation, foresee
from tui.operations.operation_lines import deed_lines
from tui.operations.preview_lines import effect_lines
from tui.operations.verbs import VERBS, Order, Verb, full_names
from tui.state.cluster_view import ClusterView
from tui.text.lines import plain, safe


@click.group("do")
def do() -> None:
    """Hold, release, delete, requeue and move jobs, take vnodes out of use, switch queues: as on the screen.

    Shows the exact commands and which jobs would start, be preempted or wait by them, then asks. What ends work or has
    several targets asks for the target's name or the number of targets, a production server for its name too.

    Exit status: 0 if all was done (or previewed), 1 if something was not, 2 for a wrong command line.
    """


def _command(verb: Verb) -> click.Command:
    @click.command(
        verb.name,
        help=f"{verb.help[0].upper()}{verb.help[1:]}.\n\n{_told_of(verb)}",
        # A negative number is a value, not an option.
        context_settings={"ignore_unknown_options": verb.value == "N"},
    )
    @click.argument("words", nargs=-1, required=True, metavar=verb.usage)
    @source_options
    @confirm_options
    @click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines; asks nothing.")
    def command(
        *,
        words: tuple[str, ...],
        demo: bool,
        server: str,
        settings_path: Path | None,
        preview: bool,
        yes: bool,
        typed: str,
        as_json: bool,
    ) -> None:
        backend = open_backend(demo=demo, server=server, settings_path=settings_path)
        try:
            cluster = look(backend)
            actor = Actor.of_environment(os.environ)
            operation = _operation(verb, cluster, words, actor.user)
            told = _tell(cluster, operation, as_json=as_json)
            if preview:
                outcomes: list[Outcome] = []
            else:
                name = cluster.server_name or backend.name
                demand_confirmation(operation, name, yes=yes, typed=typed, may_ask=not as_json)
                outcomes = make_all(backend, operation.changes, open_audit(backend), time.time)
        except ChangeError as error:
            raise click.ClickException(str(error)) from error
        finally:
            backend.close()
        if as_json:
            click.echo(json.dumps({**told, "done": [_outcome(outcome) for outcome in outcomes]}))
        else:
            for outcome in outcomes:
                click.echo(safe(outcome.text), err=not outcome.ok)
            for sentence in operation.unmet if outcomes else ():
                click.echo(safe(f"but {sentence}"), err=True)
        if not all(outcome.ok for outcome in outcomes) or ((operation.left_out or operation.unmet) and not preview):
            raise SystemExit(1)

    made: click.Command = command
    return made


def _told_of(verb: Verb) -> str:
    """The second paragraph of a command's help."""
    if verb.kind == "job":
        return "A JOB is an id, with or without the server's name; an array is 12[], one of its subjobs 12[3]."
    if verb.given:
        return f"Says which jobs run there and until when; {verb.given} unless told otherwise."
    return f"Changes each {verb.kind} by qmgr, as whoever runs this."


def _operation(verb: Verb, cluster: ClusterView, words: tuple[str, ...], user: str) -> Operation:
    value, typed = verb.read(words)
    if not typed or (verb.value and not value):
        raise click.UsageError(f"{verb.name} {verb.usage}: this has only {' '.join(words)!r}")
    verb.demand_value(cluster, value)
    return verb.operation(cluster, Order(full_names(cluster, verb.kind, typed), value, user))


def _tell(cluster: ClusterView, operation: Operation, *, as_json: bool) -> dict[str, Any]:
    """Print the commands and their effects, or only return them as data."""
    told: dict[str, Any] = {
        "title": operation.title,
        "server": cluster.server_name,
        "commands": [change.line for change in operation.changes],
        "left_out": list(operation.left_out),
        "notes": [plain(line) for line in operation.notes],
        "unmet": list(operation.unmet),
        "preview": None,
    }
    try:
        foreseen = foresee(cluster, operation)
        told["preview"] = foreseen.as_json()
        effects = effect_lines(foreseen, cluster)
    except ChangeError as error:
        effects = [((f"no preview: {error}", "warn"),)]
    if not as_json:
        for line in (*deed_lines(operation), *effects):
            click.echo(plain(line))
    return told


def _outcome(outcome: Outcome) -> dict[str, Any]:
    change = outcome.change
    return {"target": change.target.name, "command": change.line, "ok": outcome.ok, "text": outcome.text}


for _verb in VERBS:
    do.add_command(_command(_verb))
