"""Where programs of ours are found: in an environment, and beside the one that runs where a package has none."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from migration.programs.program_search_path import own_program


def test_a_program_is_found_beside_the_one_that_runs_where_there_is_no_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts, packaged = tmp_path / "scripts", tmp_path / "usr/bin"
    scripts.mkdir()
    packaged.mkdir(parents=True)
    (packaged / "mguser").symlink_to("../lib/pbsteer/launch")
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(scripts))
    monkeypatch.setattr(sys, "argv", [str(packaged / "mgsched")])
    assert own_program("mguser") == str(scripts / "mguser"), "a link that leads nowhere is no program"
    (tmp_path / "usr/lib/pbsteer").mkdir(parents=True)
    (tmp_path / "usr/lib/pbsteer/launch").write_text("")
    assert own_program("mguser") == str(packaged / "mguser")
    (scripts / "mguser").write_text("")
    assert own_program("mguser") == str(scripts / "mguser")


def test_in_a_virtual_environment_its_folder_of_programs_is_known_without_asking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(name: str) -> str:
        raise AssertionError(name)

    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", ask)
    monkeypatch.setattr(sys, "argv", ["/somewhere/mgsched"])
    assert own_program("mguser") == f"{tmp_path}/bin/mguser"
