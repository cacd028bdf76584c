"""Options that several commands share, and the cluster view that they read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class ServerAwayError(click.ClickException):
    """The server cannot be reached: exit status 2, as no request reached it."""

    exit_code = 2


def settings_option(command: F) -> F:
    """Adds the option ``--settings FILE``."""
    option: Callable[[F], F] = click.option(
        "--settings",
        "settings_path",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="The settings file to decide with. [/etc/pbsteer/policy.toml, else what the hooks run with, else the"
        " built-in settings; of a demo the latter]",
    )
    return option(command)


def source_options(command: F) -> F:
    """Adds ``--demo``, ``--server`` and ``--settings``, for a command that reads the cluster once."""
    for option in (
        settings_option,
        click.option("--server", metavar="HOST", default="", help="Ask this PBS server instead of the host's own."),
        click.option("--demo", is_flag=True, help="Look at a simulated cluster, five hours into its work."),
    ):
        command = option(command)
    return command


def seconds_option(what: str) -> Callable[[F], F]:
    """The option ``--seconds``; ``what`` ends the sentence "The processor time that ..." of its help."""
    return click.option(
        "--seconds",
        type=click.FloatRange(0.1, 3600),
        default=30.0,
        show_default=True,
        help=f"The processor time that {what}.",
    )


def open_backend_by_options(*, demo: bool, server: str, settings_path: Path | None) -> Any:
    """The backend that the options name. Raises :class:`click.ClickException` where there is none."""
    from policy import SettingsError  # noqa: PLC0415 - the engine is loaded on use
    from tui.cli.open_backend import NoServerError, open_demo, open_real  # noqa: PLC0415

    if demo and server:
        raise click.UsageError("--demo and --server: give one of them, not both")
    try:
        if demo:
            return open_demo(settings=settings_path)
        backend = open_real(os.environ, server, settings_path)
    except (NoServerError, SettingsError) as error:
        raise click.ClickException(str(error)) from error
    complain(backend)
    return backend


def complain(backend: Any) -> None:
    """Print what is wrong with the settings that a backend should have used."""
    from tui.text.screen_line import safe  # noqa: PLC0415 - as above

    complaint = getattr(backend, "complaint", "")
    if complaint:
        click.echo(safe(complaint), err=True)


def poll_cluster_view(backend: Any, on_reply: Callable[[Any, Any], None] = lambda *_: None) -> Any:
    """The cluster view of one poll, with its plan. ``on_reply`` is called with the server status and the settings
    before the plan is made. Raises :class:`ServerAwayError` where the server does not answer.
    """
    from tui.backends.interface.backend_protocol import BackendError  # noqa: PLC0415 - as above
    from tui.text.screen_line import safe  # noqa: PLC0415

    began_s = time.perf_counter()
    try:
        server_status = backend.poll()
        poll_s = time.perf_counter() - began_s
        settings = backend.settings()
        on_reply(server_status, settings)
        from tui.state.cluster_view import see  # noqa: PLC0415 - with the engine, once there is something to decide

        cluster = see(
            server_status, settings, backend.ledger(), poll_s, passes=backend.journal.read(), used=backend.used()
        )
    except BackendError as error:
        raise ServerAwayError(safe(str(error))) from error
    return cluster.decided(time.perf_counter)
