"""``pbsteer do``: what can be done to jobs, vnodes and queues, without a screen; a command for each verb there is.

Each shows the exact commands and what they would do to the jobs, asks by the rule of the screen, checks that nobody
changed the values meanwhile, reads them back and writes the audit file.
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
from tui.cli.options import look, open_source, source_options
from tui.operations.change import ChangeError, Outcome, make_all
from tui.operations.operation import Deed, foresee
from tui.operations.operation_lines import deed_lines
from tui.operations.preview_lines import effect_lines
from tui.operations.verbs import VERBS, Order, Verb, full_names
from tui.state.cluster_view import World
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
        source = open_source(demo=demo, server=server, settings_path=settings_path)
        try:
            world = look(source)
            actor = Actor.of_environment(os.environ)
            deed = _deed(verb, world, words, actor.user)
            told = _tell(world, deed, as_json=as_json)
            if preview:
                outcomes: list[Outcome] = []
            else:
                name = world.server_name or source.name
                demand_confirmation(deed, name, yes=yes, typed=typed, may_ask=not as_json)
                outcomes = make_all(source, deed.changes, open_audit(source), time.time)
        except ChangeError as error:
            raise click.ClickException(str(error)) from error
        finally:
            source.close()
        if as_json:
            click.echo(json.dumps({**told, "done": [_outcome(outcome) for outcome in outcomes]}))
        else:
            for outcome in outcomes:
                click.echo(safe(outcome.text), err=not outcome.ok)
            for sentence in deed.unmet if outcomes else ():
                click.echo(safe(f"but {sentence}"), err=True)
        if not all(outcome.ok for outcome in outcomes) or ((deed.left_out or deed.unmet) and not preview):
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


def _deed(verb: Verb, world: World, words: tuple[str, ...], user: str) -> Deed:
    value, typed = verb.read(words)
    if not typed or (verb.value and not value):
        raise click.UsageError(f"{verb.name} {verb.usage}: this has only {' '.join(words)!r}")
    verb.demand_value(world, value)
    return verb.deed(world, Order(full_names(world, verb.kind, typed), value, user))


def _tell(world: World, deed: Deed, *, as_json: bool) -> dict[str, Any]:
    """Print the commands and what they would do, or give them as data."""
    told: dict[str, Any] = {
        "title": deed.title,
        "server": world.server_name,
        "commands": [change.line for change in deed.changes],
        "left_out": list(deed.left_out),
        "notes": [plain(line) for line in deed.notes],
        "unmet": list(deed.unmet),
        "preview": None,
    }
    try:
        foreseen = foresee(world, deed)
        told["preview"] = foreseen.as_json()
        effects = effect_lines(foreseen, world)
    except ChangeError as error:
        effects = [((f"no preview: {error}", "warn"),)]
    if not as_json:
        for line in (*deed_lines(deed), *effects):
            click.echo(plain(line))
    return told


def _outcome(outcome: Outcome) -> dict[str, Any]:
    change = outcome.change
    return {"target": change.target.name, "command": change.line, "ok": outcome.ok, "text": outcome.text}


for _verb in VERBS:
    do.add_command(_command(_verb))
