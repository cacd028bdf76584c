"""What the testbed's commands have in common: the options that name a testbed, error lines, and an end in order."""

from __future__ import annotations

import shlex
import shutil
import signal
import sys
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, Callable, NoReturn

import click

from container import testbed as testbeds
from container.testbed_spec import TestbedError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

state_option: Decorator = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    default=testbeds.DEFAULT_STATE,
    show_default=True,
    help=f"Keep its files in the folder {testbeds.FOLDER} below this one.",
)


def name_option_for(default: str, help_text: str) -> Decorator:
    """The option ``--name``."""
    return click.option("--name", default=default, show_default=True, help=help_text)


def say_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a `TestbedError` or OSError into click's own error line."""

    @wraps(command)
    def guarded(**arguments: Any) -> None:
        try:
            command(**arguments)
        except (TestbedError, OSError) as error:
            raise click.ClickException(str(error)) from error

    return guarded


def end_in_order_on_signals() -> None:
    """Exit by an exception on SIGTERM and SIGHUP, so that what was begun is undone on the way out."""
    for ends in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ends) is signal.SIG_DFL:
            signal.signal(ends, _end_in_order)


def _end_in_order(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def say(step: str) -> None:
    """Print what is being done, beside the command's own output."""
    click.echo(f"{step} ...", err=True)


def own_command() -> str:
    """The command that calls this program from any folder: its name if PATH leads to it, else its path."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if not called.exists() or (found is not None and Path(found).resolve() == called.resolve()):
        return called.name if found else "pbsteer"
    return shlex.quote(str(called.absolute()))
