"""Each story of this folder: the plan that is told there is the plan that is decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.read_story import read_story

STORIES = sorted(Path(__file__).parent.glob("*.toml"))


@pytest.mark.parametrize("path", STORIES, ids=[path.stem for path in STORIES])
def test_story(path: Path) -> None:
    for said, expected, decided in read_story(path):
        assert decided == expected, said


def test_there_are_stories() -> None:
    assert len(STORIES) >= 40
