"""Runs one operation from the command line: shows its commands and effects, confirms, makes the changes, reports.

All commands that change something come through here: ``do``, ``quota set``, ``priority``, ``pause`` and ``resume``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tui.audit.audit_file import Actor, AuditLog, audit_path
from tui.backends.interface.backend_protocol import Backend, audit_log_for
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.cli.change_commands.confirm_operation import confirm_options, demand_confirmation
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, source_options
from tui.operations.alert_site_of_unknown_outcome import site_alert_of
from tui.operations.compare_and_set import Outcome, make_all
from tui.operations.confirmation.confirmation_lines import further_lines, operation_lines
from tui.operations.confirmation.effect_preview_lines import effect_lines
from tui.operations.operation_type_and_preview import Operation, preview_operation
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import plain, safe

F = TypeVar("F", bound=Callable[..., Any])
Prepare = Callable[[ClusterView, Commands, str], Operation]
"""Makes the operation from what the server shows, its commands, and the user's name."""


def operation_options(command: F) -> F:
    """Adds the options of :func:`run_operation`."""
    json_option = click.option(
        "--json", "as_json", is_flag=True, help="One JSON object instead of lines; asks nothing."
    )
    return source_options(confirm_options(json_option(command)))


def open_audit(backend: Backend) -> AuditLog:
    """The audit file for changes to this server: a simulated server's own, else this user's. Changes without a
    confirmed outcome are also reported to the site (``site_alert_of``).
    """
    actor, path = Actor.of_environment(os.environ), backend.own_audit or audit_path(os.environ)
    return audit_log_for(AuditLog(path, actor, backend.name, alert=site_alert_of(backend)), backend)


def run_operation(
    prepare: Prepare,
    *,
    demo: bool,
    server: str,
    settings_path: Path | None,
    preview: bool,
    yes: bool,
    typed: str,
    as_json: bool,
) -> None:
    """Show the operation and, unless ``preview``, confirm it, make its changes and print the outcomes.

    Exits with 1 if a change failed or a target was left out.
    """
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    outcomes: list[Outcome] = []
    try:
        cluster = poll_cluster_view(backend)
        operation = prepare(cluster, backend.commands, Actor.of_environment(os.environ).user)
        shown = _show(cluster, operation, as_json=as_json)
        if not preview:
            name = cluster.server_name or backend.name
            demand_confirmation(operation, name, yes=yes, typed=typed, may_ask=not as_json)
            outcomes = make_all(backend, operation.changes, open_audit(backend), time.time)
    except ChangeError as error:
        raise click.ClickException(str(error)) from error
    finally:
        backend.close()
    if as_json:
        click.echo(json.dumps({**shown, "done": [_outcome(outcome) for outcome in outcomes]}))
    else:
        for outcome in outcomes:
            click.echo(safe(outcome.text), err=not outcome.ok)
        for sentence in operation.unmet if outcomes else ():
            click.echo(safe(f"but {sentence}"), err=True)
    if not all(outcome.ok for outcome in outcomes) or ((operation.left_out or operation.unmet) and not preview):
        raise SystemExit(1)


def _show(cluster: ClusterView, operation: Operation, *, as_json: bool) -> dict[str, Any]:
    """Print the commands and their effects, unless ``as_json``; returns them as data."""
    shown: dict[str, Any] = {
        "title": operation.title,
        "server": cluster.server_name,
        "commands": [change.line for change in operation.changes],
        "left_out": list(operation.left_out),
        "notes": [plain(line) for line in operation.notes],
        "unmet": list(operation.unmet),
        "preview": None,
    }
    try:
        foreseen = preview_operation(cluster, operation)
        shown["preview"] = foreseen.as_json()
        effects = effect_lines(foreseen, cluster, operation.unaffected)
    except ChangeError as error:
        effects = [((f"no preview: {error}", "warn"),)]
    if not as_json:
        for line in (*operation_lines(operation, cluster), *effects, *further_lines(operation, cluster)):
            click.echo(safe(plain(line)))
    return shown


def _outcome(outcome: Outcome) -> dict[str, Any]:
    change = outcome.change
    return {"target": change.target.name, "command": change.line, "ok": outcome.ok, "text": outcome.text}
