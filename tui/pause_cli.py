"""``pbsteer pause`` and ``pbsteer resume``: nothing is started or preempted from the next pass on, and again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tui.confirming import confirm_options, demand_confirmation
from tui.core.audit import Actor, AuditLog, audit_path
from tui.core.change import ChangeError, make
from tui.core.deed_lines import deed_lines
from tui.core.deeds import Deed
from tui.core.lines import plain, safe
from tui.core.server_deeds import REASON
from tui.core.server_deeds import pause as pause_deed
from tui.core.server_deeds import resume as resume_deed
from tui.core.world import World
from tui.options import look, open_source, source_options


@click.command()
@source_options
@confirm_options
@click.option("--reason", default=REASON, help="Why, for everybody who looks; up to 200 characters.")
def pause(*, reason: str, **options: Any) -> None:
    """Start and preempt nothing from the next pass on, in any mode, until pbsteer resume.

    Jobs that run go on, passes go on to plan, and PBS's scheduler stays as it is: off for queues in drive. Shows the
    exact qmgr line, then asks. The change is read back afterwards, and written to the audit file.
    """
    _do(lambda world: pause_deed(world, reason), **options)


@click.command()
@source_options
@confirm_options
def resume(**options: Any) -> None:
    """Let pbsteer start and preempt again, as the modes say, after pbsteer pause."""
    _do(resume_deed, **options)


def _do(
    deed_of: Callable[[World], Deed],
    *,
    demo: bool,
    server: str,
    settings_path: Path | None,
    preview: bool,
    yes: bool,
    typed: str,
) -> None:
    source = open_source(demo=demo, server=server, settings_path=settings_path)
    try:
        world = look(source)
        deed = deed_of(world)
        for line in deed_lines(deed):
            click.echo(safe(plain(line)))
        if preview:
            return
        name = world.server_name or source.name
        demand_confirmation(deed, name, yes=yes, typed=typed, may_ask=True)
        actor, shared = Actor.of_environment(os.environ), source.journal.changes
        audit = AuditLog(audit_path(os.environ), actor, name, shared, in_syslog=not source.simulated)
        outcome = make(source, deed.changes[0], audit, time.time)
    except ChangeError as error:
        raise click.ClickException(str(error)) from error
    finally:
        source.close()
    if not outcome.ok:
        raise click.ClickException(outcome.text)
    click.echo(outcome.text)
