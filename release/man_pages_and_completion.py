"""Generates man pages and shell completion of all programs from their own command lines.

It runs in a process of its own, with the shipped packages on its path: ``python -m release.man_pages_and_completion
FOLDER``.
"""

from __future__ import annotations

import datetime
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete
from click_man.core import write_man_pages

from hooks.deploy.bundle_hook import VERSION
from release.pbsteer.launch import PROGRAMS

_SHELLS = {
    BashComplete: "usr/share/bash-completion/completions/{}",
    ZshComplete: "usr/share/zsh/vendor-completions/_{}",
    FishComplete: "usr/share/fish/vendor_completions.d/{}.fish",
}


def write_all(root: Path) -> None:
    """Write the man pages and completions of all programs that are click commands, below the root of a package."""
    man = root / "usr/share/man/man1"
    man.mkdir(parents=True)
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    for name, command in commands():
        write_man_pages(name, command, version=VERSION, target_dir=str(man), date=moment.strftime("%Y-%m-%d"))
        for completion, pattern in _SHELLS.items():
            variable = f"_{name.upper()}_COMPLETE"
            path = root / pattern.format(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(completion(command, {}, name, variable).source() + "\n", encoding="utf-8")


def commands() -> Iterator[tuple[str, click.Command]]:
    """The programs whose command lines are click's, each with its command and all that is below it."""
    for name, module in PROGRAMS.items():
        command = importlib.import_module(module).main
        if isinstance(command, click.Command):
            yield name, _with_known_commands(command)


def _with_known_commands(command: click.Command) -> click.Command:
    """A group that imports its commands on use, as a plain group that has them."""
    if not isinstance(command, click.Group) or command.commands:
        return command
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    known = {name: each for name, each in found.items() if each is not None}
    return click.Group(command.name, known, help=command.help, params=command.params)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
