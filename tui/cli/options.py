"""Options that several commands share, and the world that they look at."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def settings_option(command: F) -> F:
    """``--settings FILE``."""
    option: Callable[[F], F] = click.option(
        "--settings",
        "settings_path",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="The policy file to decide with. [/etc/pbsteer/policy.toml, else what the hooks run with, else the"
        " built-in settings; of a demo the latter]",
    )
    return option(command)


def source_options(command: F) -> F:
    """``--demo``, ``--server`` and ``--settings`` of a command that looks once."""
    for option in (
        settings_option,
        click.option("--server", metavar="HOST", default="", help="Ask this PBS server instead of the host's own."),
        click.option("--demo", is_flag=True, help="Look at a simulated cluster, five hours into its work."),
    ):
        command = option(command)
    return command


def open_source(*, demo: bool, server: str, settings_path: Path | None) -> Any:
    """The source that the options name; a :class:`click.ClickException` where there is none."""
    from policy import SettingsError  # noqa: PLC0415 - the engine is loaded on use
    from tui.cli.open_backend import NoServerError, open_demo, open_real  # noqa: PLC0415

    if demo and server:
        raise click.UsageError("--demo and --server: give one of them, not both")
    try:
        if demo:
            return open_demo(settings=settings_path)
        source = open_real(os.environ, server, settings_path)
    except (NoServerError, SettingsError) as error:
        raise click.ClickException(str(error)) from error
    complain(source)
    return source


def complain(source: Any) -> None:
    """Say what is wrong with the settings that a source would have gone by."""
    from tui.text.lines import safe  # noqa: PLC0415 - as above

    complaint = getattr(source, "complaint", "")
    if complaint:
        click.echo(safe(complaint), err=True)


def look(source: Any) -> Any:
    """The world of one poll, with its plan; a :class:`click.ClickException` where the server does not answer."""
    from tui.backends.base import SourceError  # noqa: PLC0415 - as above
    from tui.state.cluster_view import see  # noqa: PLC0415

    began_s = time.perf_counter()
    try:
        picture = source.poll()
        poll_s = time.perf_counter() - began_s
        world = see(picture, source.settings(), source.ledger(), poll_s, passes=source.journal.read())
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    return world.decided(time.perf_counter)
