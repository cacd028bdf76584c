"""docs/simulate.md has every policy that can be named, and the README every command."""

from __future__ import annotations

import re
from pathlib import Path

import click

from sim.replay.named_policies import NAMES
from tui.cli.main import main

ROOT = Path(__file__).parents[2]


def test_every_name_is_in_the_table() -> None:
    page = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    _, _, after = page.partition("\n## The policies\n")
    rows = re.findall(r"^\| (`.*?) \|", after.partition("\n## ")[0], re.MULTILINE)
    assert re.findall(r"`([a-z-]+)`", " ".join(rows)) == list(NAMES)


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`pbsteer .*?) \|", readme, re.MULTILINE)
    commands = set(re.findall(r"`pbsteer ([a-z]+)", " ".join(rows)))
    assert commands == set(main.list_commands(click.Context(main)))
