"""docs/settings.md names every key of the settings with its default and what is allowed, and the example is good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from policy.settings.simulated_queues import QueueSettings
from policy.settings.site_settings import describe_settings
from tui.cli.main import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def rows_under(heading: str) -> list[list[str]]:
    """The cells of the rows of the table under a heading."""
    _, _, after = PAGE.partition(f"\n## {heading}\n")
    lines = after.partition("\n## ")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]


def in_toml(default: str) -> str:
    return default.lower() if default in ("True", "False") else default


def test_table_is_what_the_settings_say() -> None:
    documented = [tuple(cells[:3]) for cells in rows_under("Every key")]
    assert documented == [(f"`{key}`", in_toml(default), allowed) for key, default, allowed in describe_settings()]


def test_every_key_has_a_meaning() -> None:
    assert all(len(cells) == 4 and cells[3] for cells in rows_under("Every key"))


def test_queue_keys_are_all_there() -> None:
    documented = [cells[0].strip("`") for cells in rows_under("Queues of a simulated cluster")]
    assert documented == list(QueueSettings.__dataclass_fields__)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda path: path.name)
def test_example_is_accepted(example: Path) -> None:
    result = CliRunner().invoke(main, ["check", str(example)])
    assert (result.exit_code, result.output) == (0, f"{example}: good\n")


def test_broken_example_says_what_the_page_prints(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[backfill]\nshrink_factor = 1.5\n[quota]\nexempt = 60\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["check", str(broken)])
    assert result.exit_code == 1
    assert re.sub(re.escape(str(broken)), "broken.toml", result.output) in PAGE
