"""Confirming a deed on the command line: the rule of the screen, asked at the terminal or given by option."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from tui.config.site import SiteError, console_files, read_site
from tui.operations.operation import Deed
from tui.operations.safeguards import asked_for, is_confirmed

F = TypeVar("F", bound=Callable[..., Any])


def confirm_options(command: F) -> F:
    """``--preview``, ``--yes`` and ``--confirm TEXT``."""
    for option in (
        click.option(
            "--confirm",
            "typed",
            metavar="TEXT",
            default="",
            help="What would have to be typed: the target's name, the number of targets, a production server's name.",
        ),
        click.option("--yes", is_flag=True, help="Do not ask, where a yes is all that would be asked for."),
        click.option("--preview", is_flag=True, help="Only say what it would do; change nothing."),
    ):
        command = option(command)
    return command


def demand_confirmation(deed: Deed, server: str, *, yes: bool, typed: str, may_ask: bool) -> None:
    """Return where the deed is confirmed. Raises a click exception where it is not, or where nobody can be asked."""
    try:
        asked = asked_for(deed, server, read_site(console_files(os.environ)))
    except SiteError as error:
        raise click.ClickException(str(error)) from error
    if not asked and (yes or typed):
        return
    if asked and (yes or typed or not may_ask):
        if is_confirmed(asked, typed):
            return
        instead = f", not {typed!r}" if typed else ""
        raise click.UsageError(f"{deed.title} on {server} asks for --confirm {asked!r}{instead}")
    if not may_ask:
        raise click.UsageError(f"{deed.title} on {server} asks for --yes")
    try:
        answer = _ask(deed, server, asked)
    except click.Abort as error:
        if sys.stdin.isatty():
            raise
        # Nobody answered, as in a script: what it lacks is an option.
        option = f"--confirm {asked!r}" if asked else "--yes"
        raise click.UsageError(f"{deed.title} on {server} asks for {option} where there is no terminal") from error
    if not asked and not answer:
        raise click.Abort
    if asked and not is_confirmed(asked, answer):
        raise click.ClickException(f"not done: asked for was {asked!r}")


def _ask(deed: Deed, server: str, asked: str) -> str:
    """What was answered; empty for no. Raises :class:`click.Abort` where nothing was."""
    if not asked:
        return "yes" if click.confirm(f"{deed.title} on {server}?") else ""
    return str(click.prompt(f"{deed.title} on {server}: type {asked} to do it", prompt_suffix=" > "))
