"""A deed of one change done from the command line: shown, confirmed, made and recorded; for commands that make one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import click

from tui.audit.log import Actor, AuditLog, audit_path
from tui.backends.base import Source, addressed
from tui.cli.confirming import demand_confirmation
from tui.cli.options import look, open_source
from tui.operations.alert_site import teller_of
from tui.operations.change import ChangeError, make
from tui.operations.operation import Deed
from tui.state.cluster_view import World
from tui.text.lines import safe


def open_audit(source: Source) -> AuditLog:
    """The audit file for changes to this server, a simulated one's own or this user's, with who is told of those
    without an outcome."""
    actor, path = Actor.of_environment(os.environ), source.own_audit or audit_path(os.environ)
    return addressed(AuditLog(path, actor, source.name, tell=teller_of(source)), source)


def change_one(
    deed_of: Callable[[World], Deed],
    show: Callable[[World, Deed], None],
    *,
    demo: bool,
    server: str,
    settings_path: Path | None,
    preview: bool,
    yes: bool,
    typed: str,
) -> None:
    """Show the deed, and unless this is a preview ask, make its only change and say how it went. Raises a click
    exception where it did not go well."""
    source = open_source(demo=demo, server=server, settings_path=settings_path)
    try:
        world = look(source)
        deed = deed_of(world)
        show(world, deed)
        if preview:
            return
        name = world.server_name or source.name
        demand_confirmation(deed, name, yes=yes, typed=typed, may_ask=True)
        (change,) = deed.changes
        outcome = make(source, change, open_audit(source), time.time)
    except ChangeError as error:
        raise click.ClickException(str(error)) from error
    finally:
        source.close()
    if not outcome.ok:
        raise click.ClickException(safe(outcome.text))
    click.echo(safe(outcome.text))
