"""``pbsteer whatif``: what a change would do over the next hours, with and without it side by side; changes nothing."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hooks.pbs.custom_resources import PRIORITY
from migration.config.parse_toml import parse_toml
from policy import SettingsError
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.cli.read_order_of_verb import read_order
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, seconds_option, source_options
from tui.forecast.past_runs_to_forecast_from import learn
from tui.forecast.what_if import (
    HypotheticalChange,
    look_ahead,
    suppose_reservation,
    suppose_settings,
    supposed_mode_notes,
)
from tui.operations.by_target.soft_quota_priority_and_import_ops import set_quota
from tui.operations.operation_registry import VERBS, Verb
from tui.operations.operation_type_and_preview import Operation
from tui.pages.plan.what_if_page import what_if_data, what_if_lines
from tui.quota_files.parse_typed_quota import parse_entity, parse_quota
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import plain, safe
from tui.text.times_and_durations import parse_span_s

F = TypeVar("F", bound=Callable[..., Any])
Suppose = Callable[[ClusterView, Commands], HypotheticalChange]


@click.group("whatif")
def what_if() -> None:
    """What a change would do over the next 24 hours: who waits less or more, and what it costs. Changes nothing.

    Both sides are run forward on the live state with the same drawn run times: per user and per queue how long the
    waiting jobs wait, how many start, idle cores, jobs preempted, and work repeated. Jobs still to come are left out.
    """


def _options(command: F) -> F:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a table."),
        click.option("--hours", type=click.FloatRange(0.1, 720), default=24.0, show_default=True, help="The span."),
        seconds_option("it may take; where that is too little, the span is shorter"),
    ):
        command = option(command)
    return source_options(command)


def _run(
    suppose: Suppose,
    *,
    demo: bool,
    server: str,
    settings_path: Path | None,
    hours: float,
    seconds: float,
    as_json: bool,
) -> None:
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        cluster = poll_cluster_view(backend)
        supposed = suppose(cluster, backend.commands)
        learned = learn(backend)
    except ChangeError as error:
        raise click.ClickException(safe(str(error))) from error
    except SettingsError as error:
        raise click.ClickException(safe("; ".join(error.problems))) from error
    finally:
        backend.close()
    *_, found = look_ahead(cluster, supposed, learned, seconds, hours * 3600)
    notes = (*supposed.notes, *supposed_mode_notes(cluster, supposed.status))
    if as_json:
        click.echo(json.dumps(what_if_data(supposed.title, notes, found, learned.runs)))
        return
    click.echo(f"what if: {safe(supposed.title)}")
    for note in notes:
        click.echo(safe(note))
    for line in what_if_lines(found, learned.runs):
        click.echo(safe(plain(line).rstrip()))


def _of_operation(cluster: ClusterView, operation: Operation) -> HypotheticalChange:
    status = operation.edit(cluster.server_status)
    notes = tuple(f"left out: {why}" for why in operation.left_out)
    return HypotheticalChange(operation.title, status, cluster.settings, notes=notes)


_NEGATIVE_IS_A_VALUE = {"ignore_unknown_options": True}


@what_if.command(context_settings=_NEGATIVE_IS_A_VALUE)
@click.argument("queue")
@click.argument("user")
@click.argument("cores")
@_options
def quota(*, queue: str, user: str, cores: str, **options: Any) -> None:
    """USER's soft quota in QUEUE were CORES, or none. For QUEUE, @server is the whole cluster; a group is g:NAME."""
    _run(lambda cluster, commands: _limit(cluster, commands, queue, user, cores, "quota", ""), **options)


@what_if.command(context_settings=_NEGATIVE_IS_A_VALUE)
@click.argument("queue")
@click.argument("user")
@click.argument("number", metavar="N")
@_options
def priority(*, queue: str, user: str, number: str, **options: Any) -> None:
    """USER's priority in QUEUE were N, or none. (A job's own priority: whatif job-priority.)"""
    _run(lambda cluster, commands: _limit(cluster, commands, queue, user, number, "priority", PRIORITY), **options)


def _limit(
    cluster: ClusterView, commands: Commands, queue: str, user: str, number: str, what: str, resource: str
) -> HypotheticalChange:
    operation = set_quota(cluster, commands, queue, parse_entity(commands, user), parse_quota(number, what), resource)
    return _of_operation(cluster, operation)


@what_if.command()
@click.argument("given", nargs=-1, required=True, metavar="TABLE.KEY=VALUE...")
@_options
def setting(*, given: tuple[str, ...], **options: Any) -> None:
    """Settings were different, such as backfill.order=shortest-first. Values are written as in TOML; texts may lack
    their quotes."""
    tables: dict[str, dict[str, object]] = {}
    for text in given:
        key, equals, value = text.partition("=")
        table, dot, name = key.strip().partition(".")
        if not equals or not dot or not table or not name:
            raise click.UsageError(f"{text!r}: allowed is TABLE.KEY=VALUE, as in backfill.order=shortest-first")
        tables.setdefault(table, {})[name] = _toml_value(value.strip())
    _run(lambda cluster, _: suppose_settings(cluster, tables, ", ".join(given)), **options)


def _toml_value(text: str) -> object:
    """A value as in TOML; what is none is a text."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


@what_if.command()
@click.argument("vnodes", nargs=-1, required=True, metavar="VNODE...")
@click.option("--in", "after", default="0", metavar="TIME", help="When it begins, from now: 90, 15m, 2h. [now]")
@click.option("--for", "length", required=True, metavar="TIME", help="How long it lasts: 15m, 2h, 1d or 12:00:00.")
@_options
def reservation(*, vnodes: tuple[str, ...], after: str, length: str, **options: Any) -> None:
    """These whole vnodes were reserved for a while."""
    try:
        in_s, for_s = parse_span_s(after), parse_span_s(length)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if for_s <= 0 or in_s < 0:
        raise click.UsageError("--for must be more than 0, and --in at least 0")
    _run(lambda cluster, _: suppose_reservation(cluster, vnodes, cluster.now_s + in_s, for_s), **options)


_NO_EFFECT = ("comment",)
_RENAMED = {"priority": "job-priority"}


def _command(verb: Verb) -> click.Command:
    @click.command(
        _RENAMED.get(verb.name, verb.name),
        help=f"As pbsteer do {verb.name}: {verb.help}.",
        context_settings={"ignore_unknown_options": verb.value == "N"},
    )
    @click.argument("words", nargs=-1, required=True, metavar=verb.usage)
    @_options
    def command(*, words: tuple[str, ...], **options: Any) -> None:
        def suppose(cluster: ClusterView, commands: Commands) -> HypotheticalChange:
            order = read_order(verb, words, cluster, getpass.getuser())
            return _of_operation(cluster, verb.operation(cluster, commands, order))

        _run(suppose, **options)

    made: click.Command = command
    return made


for _verb in VERBS:
    if _verb.name not in _NO_EFFECT:
        what_if.add_command(_command(_verb))
