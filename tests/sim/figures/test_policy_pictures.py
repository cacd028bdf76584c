"""The pictures of docs/policies.md: those in the folder are what the engine decides now, and the page shows each."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.figures.policy_pictures import PICTURES, main

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PICTURES)
def test_picture_in_the_folder_is_what_the_engine_decides(name: str) -> None:
    file = DOCS / "pictures" / f"{name}.svg"
    assert PICTURES[name]().show() == file.read_text(encoding="utf-8"), "make pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_page_shows_it(name: str) -> None:
    assert f"](pictures/{name}.svg)" in (DOCS / "policies.md").read_text(encoding="utf-8")


def test_all_are_drawn_into_the_folder_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new"
    assert main([str(folder)]) == 0
    assert sorted(file.stem for file in folder.iterdir()) == sorted(PICTURES)
    assert capsys.readouterr().out.splitlines() == [str(folder / f"{name}.svg") for name in PICTURES]


def test_without_a_folder_it_says_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err
