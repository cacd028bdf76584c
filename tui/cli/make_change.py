"""Makes a single change from the command line: shows, confirms, makes and records it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import click

from tui.audit.log import Actor, AuditLog, audit_path
from tui.backends.base import Backend, addressed
from tui.cli.confirming import demand_confirmation
from tui.cli.options import look, open_backend
from tui.operations.alert_site import teller_of
from tui.operations.change import ChangeError, make
from tui.operations.operation import Operation
from tui.state.cluster_view import ClusterView
from tui.text.lines import safe


def open_audit(backend: Backend) -> AuditLog:
    """The audit file for changes to this server: a simulated server's own, else this user's. Changes without a
    confirmed outcome are also reported to the site (``teller_of``).
    """
    actor, path = Actor.of_environment(os.environ), backend.own_audit or audit_path(os.environ)
    return addressed(AuditLog(path, actor, backend.name, tell=teller_of(backend)), backend)


def change_one(
    operation_of: Callable[[ClusterView], Operation],
    show: Callable[[ClusterView, Operation], None],
    *,
    demo: bool,
    server: str,
    settings_path: Path | None,
    preview: bool,
    yes: bool,
    typed: str,
) -> None:
    """Show the operation and, unless ``preview``, confirm it, make its only change and print the outcome. Raises a
    click exception where it failed.
    """
    backend = open_backend(demo=demo, server=server, settings_path=settings_path)
    try:
        cluster = look(backend)
        operation = operation_of(cluster)
        show(cluster, operation)
        if preview:
            return
        name = cluster.server_name or backend.name
        demand_confirmation(operation, name, yes=yes, typed=typed, may_ask=True)
        (change,) = operation.changes
        outcome = make(backend, change, open_audit(backend), time.time)
    except ChangeError as error:
        raise click.ClickException(str(error)) from error
    finally:
        backend.close()
    if not outcome.ok:
        raise click.ClickException(safe(outcome.text))
    click.echo(safe(outcome.text))
