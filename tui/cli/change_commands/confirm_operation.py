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
    if not asked and typed and not names_target(operation, server, typed):
        raise click.UsageError(f"{operation.title} on {server} asks for --yes, not for --confirm {typed!r}")
    if not asked and (yes or typed):
        return
    if asked and (yes or typed or not may_ask):
        if is_confirmed(asked, typed):
            return
        instead = f", not {typed!r}" if typed else ""
        raise click.UsageError(f"{operation.title} on {server} asks for --confirm {asked!r}{instead}")
    if not may_ask:
        raise click.UsageError(f"{operation.title} on {server} asks for --yes")
    try:
        answer = _ask(operation, server, asked)
    except click.Abort as error:
        if sys.stdin.isatty():
            raise
        # No answer, as in a script: name the option that is missing.
        option = f"--confirm {asked!r}" if asked else "--yes"
        raise click.UsageError(f"{operation.title} on {server} asks for {option} where there is no terminal") from error
    if not asked and not answer:
        raise click.Abort
    if asked and not is_confirmed(asked, answer):
        raise click.ClickException(f"not done: asked for was {asked!r}")


def _ask(operation: Operation, server: str, asked: str) -> str:
    """The answer; empty for no. Raises :class:`click.Abort` where there is no answer."""
    if not asked:
        return "yes" if click.confirm(f"{operation.title} on {server}?") else ""
    return str(click.prompt(f"{operation.title} on {server}: type {asked} to do it", prompt_suffix=" > "))
