"""``pbsteer check``: validates a settings file; every problem is a line of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from hooks.deploy.settings_and_partition.check_settings_against_server import BUILT_IN, find_missing
from policy import Settings, SettingsError
from policy.settings.site_settings import describe_settings
from tui.config.read_site_policy_toml import read_settings
from tui.text.screen_line import safe


@click.command()
@click.argument("path", type=click.Path(path_type=Path), required=False, metavar="SETTINGS.toml")
@click.option("--keys", is_flag=True, help="List every key with its default and what is allowed.")
@click.pass_context
def check(ctx: click.Context, *, path: Path | None, keys: bool) -> None:
    """Validate a settings file.

    Every problem is listed, with the key, the value, what is allowed and the file; the exit status is 1 where there is
    any. A note names what this host has not, or only a server knows; pbsteer hooks plan asks it. --keys lists all keys
    instead.
    """
    if keys:
        described = describe_settings()
        key_cells, default_cells = (max(len(row[column]) for row in described) + 2 for column in (0, 1))
        for key, default, allowed in described:
            click.echo(f"{key:<{key_cells}}{default:<{default_cells}}{allowed}")
        return
    if path is None:
        raise click.UsageError("which file? pbsteer check SETTINGS.toml")
    try:
        settings = read_settings(path)
    except SettingsError as error:
        for problem in error.problems:
            click.echo(safe(problem), err=True)
        count = len(error.problems)
        click.echo(f"{path}: {count} problem{'' if count == 1 else 's'}", err=True)
        ctx.exit(1)
    for sentence in (*_unknown(settings), *find_missing(settings)):
        click.echo(safe(f"note: {sentence}"), err=True)
    click.echo(f"{path}: good")


def _unknown(settings: Settings) -> Iterator[str]:
    """Notes on names that are not built into PBS, so that only the server knows whether it has them."""
    for name in settings.quota.counted:
        if name not in BUILT_IN:
            yield (
                f"quota.counted = {name!r}: none of PBS's own consumables ({', '.join(sorted(BUILT_IN))});"
                " pbsteer hooks plan asks the server whether it has it"
            )
