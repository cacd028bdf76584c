"""Options given before a command's name: passed on to the command if it has them, refused otherwise, never ignored.

``pbsteer --server hpc2 status`` asks hpc2, as ``pbsteer status --server hpc2`` does.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
from click.core import ParameterSource


def hand_down(ctx: click.Context, name: str, command: click.Command, args: list[str]) -> list[str]:
    """The command's arguments with the options of ``ctx`` in front. Raises :class:`click.UsageError` for an option that
    the command does not have.
    """
    given = list(_given(ctx))
    if not given:
        return args
    path, leaf, before = [name], command, 0
    for at, word in enumerate(args):
        found = leaf.get_command(ctx, word) if isinstance(leaf, click.Group) else None
        if found is not None:
            path, leaf, before = [*path, word], found, at + 1
    if isinstance(leaf, click.Group):
        return args
    known = {option for parameter in leaf.params for option in parameter.opts}
    words: list[str] = []
    for option, value in given:
        if option not in known:
            raise click.UsageError(
                f"{option} before {path[0]}: pbsteer {' '.join(path)} has no such option, it is for the console"
                " (pbsteer without a command)"
            )
        words += [option] if value is None else [option, value]
    return [*args[:before], *words, *args[before:]]


def _given(ctx: click.Context) -> Iterator[tuple[str, str | None]]:
    """The options on the command line before the command's name, with their values; None for a flag."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE and isinstance(parameter, click.Option):
            yield parameter.opts[0], None if parameter.is_flag else str(ctx.params[name])
