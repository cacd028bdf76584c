"""The example of docs/saving.md is the file that the tests run on a real server."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_example_whole() -> None:
    page = (ROOT / "docs" / "saving.md").read_text(encoding="utf-8")
    assert (ROOT / "examples" / "counting.sh").read_text(encoding="utf-8") in page
