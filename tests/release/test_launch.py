"""The starts of all programs: the same ones in the package's entry points, in the launcher and in the documentation."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release.pbsteer.launch import PROGRAMS, find_tree

ROOT = Path(__file__).parents[2]
FOLDERS = ("container", "hooks", "migration", "policy", "sim", "torque", "tui")


def test_every_program_has_an_entry_point_of_the_launcher() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    scripts = text.partition("[project.scripts]")[2].partition("\n#")[0]
    assert dict(re.findall(r'^(\w+) = "(.+)"$', scripts, re.M)) == dict.fromkeys(PROGRAMS, "pbsteer.launch:main")


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_has_a_main(program: str) -> None:
    assert callable(importlib.import_module(PROGRAMS[program]).main)


def test_in_a_checkout_the_packages_are_at_its_top() -> None:
    assert find_tree() == ROOT
    assert all((find_tree() / folder).is_dir() for folder in FOLDERS)


@pytest.mark.parametrize(("name", "words"), [("mgstat", "mgsub"), ("pbsteer", "console"), ("other.pyz", "console")])
def test_the_name_of_the_process_chooses_the_program(tmp_path: Path, name: str, words: str) -> None:
    shutil.copytree(ROOT / "release/pbsteer", tmp_path / "pbsteer")
    tree = tmp_path / "pbsteer/tree"
    tree.mkdir()
    for folder in FOLDERS:
        (tree / folder).symlink_to(ROOT / folder)
    code = f"import sys; sys.argv = [{str(tmp_path / name)!r}, '--help']; from pbsteer.launch import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    assert words in done.stdout
