"""The pictures of docs/developing.md: those in the folder show the layers as they are now, and the page shows both."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.figures.code_layer_pictures import PICTURES, STEPS, main

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", PICTURES)
def test_picture_in_the_folder_is_drawn_from_the_code_as_it_is(name: str) -> None:
    file = ROOT / "docs" / "pictures" / f"{name}.svg"
    assert PICTURES[name]().show() == file.read_text(encoding="utf-8"), "make pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_page_shows_it(name: str) -> None:
    assert f"](pictures/{name}.svg)" in (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")


def test_each_step_of_a_pass_names_a_file_that_is_there() -> None:
    assert [step.file for step in STEPS if not (ROOT / step.file).is_file()] == []


def test_all_are_drawn_into_the_folder_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert sorted(file.stem for file in tmp_path.iterdir()) == sorted(PICTURES)
    assert "code-pass.svg" in capsys.readouterr().out
    assert main([]) == 2
    assert "FOLDER" in capsys.readouterr().err
