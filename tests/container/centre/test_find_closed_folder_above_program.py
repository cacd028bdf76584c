"""A program that other accounts cannot reach is found with the folder that keeps them off."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from container.centre.find_closed_folder_above_program import find_closed_folder, find_closed_to_program


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that every account can enter, as can those above it but for pytest's own."""
    temporary = Path(tempfile.gettempdir())
    for folder in (tmp_path, *tmp_path.parents):
        if temporary in folder.parents:
            folder.chmod(0o755)
    if find_closed_folder(tmp_path / "x") is not None:
        pytest.skip(f"{tmp_path} lies below a closed folder")
    return tmp_path


def test_the_closed_folder_above_a_program_is_named(place: Path) -> None:
    program = place / "home" / "bin" / "mgsched"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    assert find_closed_to_program(program) is None
    (place / "home").chmod(0o700)
    assert find_closed_to_program(program) == place / "home"


def test_a_link_is_followed_and_so_is_the_first_line(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    (closed / "python").write_bytes(b"\x7fELF")
    (place / "python").symlink_to(closed / "python")
    assert find_closed_folder(place / "python") == closed
    script = place / "mgsched"
    script.write_text(f"#!{place}/python -I\n")
    assert find_closed_to_program(script) == closed
    script.write_bytes(b"\x7fELF")
    assert find_closed_to_program(script) is None
