"""A command that replays a workload, called as its user calls it."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import click
from click.testing import CliRunner, Result

# The click of Python 3.9 mixes what a command prints with its errors, unless it is told otherwise.
_APART: Mapping[str, Any] = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


class Invoked:
    """One command, with the options that every call of it has first."""

    def __init__(self, command: click.Command, *always: str) -> None:
        self._command = command
        self._always = always

    def run(self, *arguments: object, env: Mapping[str, str] | None = None) -> Result:
        """What the command answers; what it did not mean to raise is raised here."""
        result = CliRunner(**_APART).invoke(self._command, [*self._always, *map(str, arguments)], env=env)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    def refused(self, *arguments: object) -> str:
        """The one line of an error; anything else fails the test."""
        result = self.run(*arguments)
        assert result.exit_code == 2
        assert not result.stdout
        (line,) = result.stderr.splitlines()
        assert line.startswith("Error: ")
        return line
