"""Confirming an operation on the command line, by the same rule as on the screen: typed at the terminal or given as an
option.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tui.config.production_servers_and_server_list import SiteError, console_files, read_site
from tui.operations.confirmation.typed_confirmation import asked_for, is_confirmed, names_target
from tui.operations.operation_type_and_preview import Operation

F = TypeVar("F", bound=Callable[..., Any])


def confirm_options(command: F) -> F:
    """Adds the options ``--preview``, ``--yes`` and ``--confirm TEXT``."""
    for option in (
        click.option(
            "--confirm",
            "typed",
            metavar="TEXT",
            default="",
            help="What would have to be typed: the target's name, the number of targets, a production server's name."
            " Where a yes is all, the target's name will do.",
        ),
        click.option("--yes", is_flag=True, help="Do not ask, where a yes is all that would be asked for."),
        click.option("--preview", is_flag=True, help="Only say what it would do; change nothing."),
    ):
        command = option(command)
    return command


def demand_confirmation(operation: Operation, server: str, *, yes: bool, typed: str, may_ask: bool) -> None:
    """Return if the operation is confirmed, by option or at the terminal. Raises a click exception if it is not, or
    where ``may_ask`` is False or there is no terminal.
    """
    try:
        asked = asked_for(operation, server, read_site(console_files(os.environ)))
    except SiteError as error:
        raise click.ClickException(str(error)) from error
    what = f"{operation.title} on {server}"
    if asked:
        if yes or typed or not may_ask:
            if not is_confirmed(asked, typed):
                instead = f", not {typed!r}" if typed else ""
                raise click.UsageError(f"{what} asks for --confirm {asked!r}{instead}")
        elif not is_confirmed(asked, _ask_at_terminal(operation, server, asked)):
            raise click.ClickException(f"not done: asked for was {asked!r}")
        return
    if typed and not names_target(operation, server, typed):
        raise click.UsageError(f"{what} asks for --yes, not for --confirm {typed!r}")
    if yes or typed:
        return
    if not may_ask:
        raise click.UsageError(f"{what} asks for --yes")
    if not _ask_at_terminal(operation, server, asked):
        raise click.Abort


def _ask_at_terminal(operation: Operation, server: str, asked: str) -> str:
    """The answer; empty for no. Without a terminal, as in a script, a click exception names the option to give."""
    try:
        return _ask(operation, server, asked)
    except click.Abort as error:
        if sys.stdin.isatty():
            raise
        option = f"--confirm {asked!r}" if asked else "--yes"
        raise click.UsageError(f"{operation.title} on {server} asks for {option} where there is no terminal") from error


def _ask(operation: Operation, server: str, asked: str) -> str:
    """The answer; empty for no. Raises :class:`click.Abort` where there is no answer."""
    if not asked:
        return "yes" if click.confirm(f"{operation.title} on {server}?") else ""
    return str(click.prompt(f"{operation.title} on {server}: type {asked} to do it", prompt_suffix=" > "))
