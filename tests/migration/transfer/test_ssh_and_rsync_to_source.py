"""The transfers of a connection, by the rsync of this host, to folders beside each other in place of a source."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from migration.programs.run_external_program_with_limits import Finished
from migration.transfer.ssh_and_rsync_to_source import Connection
from migration.transfer.words_for_paths_at_source import STAGED

NAMES = ("md.log", "#md.log.1#", ";x", "#dir/traj", "#dir/;sub/#t", "d/#x", "-n", " #", "\udcff\n#y")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """``job/`` and ``stage/`` of the source, and an ssh that runs its command there."""
    for name in ("source/job", "source/stage", "here"):
        (tmp_path / name).mkdir(parents=True)
    ssh = tmp_path / "ssh"
    ssh.write_text(f'#!/bin/sh\nshift 3\ncd "{tmp_path}/source" && exec sh -c "$*"\n')
    ssh.chmod(0o755)
    return tmp_path / "source"


def connect(source: Path) -> Connection:
    def run(argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, **more: Any) -> Finished:
        if more.get("aside"):
            return Finished(1, b"", b"")
        words = list(argv[3:])
        words[words.index("-e") + 1] = str(source.parent / "ssh")
        done = subprocess.run(["rsync", *words], input=stdin[int(argv[1]) :], capture_output=True, cwd=cwd, check=False)
        return Finished(done.returncode, done.stdout, done.stderr)

    return Connection(run, "alice", "mg@a", b"key")


def make(folder: Path, text: str) -> None:
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        os.utime(folder / name, (9, 9))


def names(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


def test_results_of_any_name_are_copied_also_those_that_rsync_would_take_for_comments(source: Path) -> None:
    here = source.parent / "here"
    make(here, "result")
    here.chmod(0o500)
    connect(source).push(str(here), [*NAMES, "#dir"], STAGED, 60)
    assert names(source / "stage") == set(NAMES)
    assert (source / "stage").stat().st_mode & 0o777 == 0o755, "the job's own folder has another mode"


@pytest.mark.parametrize("name", NAMES)
def test_a_result_of_any_name_that_is_not_at_the_source_is_found(source: Path, name: str) -> None:
    here, job = source.parent / "here", source / "job"
    make(here, "result")
    make(job, "result")
    connection = connect(source)
    assert connection.find_unlike(str(here), NAMES, 60) == []
    (job / name).write_text("another")
    assert len(connection.find_unlike(str(here), NAMES, 60)) == 1
    (job / name).unlink()
    assert len(connection.find_unlike(str(here), NAMES, 60)) == 1
