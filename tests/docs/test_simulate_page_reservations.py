"""docs/simulate.md: its reservations are ones that can be read, and what it prints of them is what is measured."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from sim.workload.reservation_file import KEYS
from tui.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Reservations\n")[2].partition("\n## ")[0]


def test_every_key_of_a_reservation_is_in_the_table() -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", SECTION, re.MULTILINE)
    assert sorted(re.findall(r"`([a-z]+)`", " ".join(cells))) == sorted(KEYS)


def test_the_example_gives_the_figures_that_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
    ((command, printed),) = re.findall(r"^\$ pbsteer (.*?)\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
    (tmp_path / "reservations.toml").write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, shlex.split(command))
    assert result.exit_code == 0
    lines = [line for line in printed.splitlines() if line != "..."]
    assert len(lines) > 3
    assert [line for line in lines if line not in result.stdout.splitlines()] == []
