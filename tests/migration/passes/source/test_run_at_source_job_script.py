"""The script of a job that runs where it was submitted, its status, and what is left of both."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from migration.as_user.user_files.user_files_in_landing_folder import unlink
from migration.passes.source.run_at_source_job_script import HomeFolders
from migration.passes.source.source_context import NotPrepared
from migration.programs.run_external_program_with_limits import Finished, run
from migration.target_job.read_exit_status import UnreadableError
from policy.migration.job_record_and_copy_updates import Record

RECORD = Record(gid="a.1", user="alice", src="a", dst="a", prog="p", args=("1 2", "$x"))


class Files:
    """The operations, done by this process; ``denied`` are refused."""

    def __init__(self, *denied: str) -> None:
        self.denied = denied
        self.users: set[str | None] = set()

    def __call__(self, argv: Sequence[str], *, user: str | None = None, stdin: bytes = b"", **_: Any) -> Finished:
        self.users.add(user)
        if argv[0] in self.denied:
            return Finished(1, b"", b"Permission denied")
        if argv[0] == "write":
            Path(argv[1]).write_bytes(stdin)
            Path(argv[1]).chmod(0o755)
        elif argv[0] == "read":
            return Finished(0, Path(argv[1]).read_bytes(), b"") if Path(argv[1]).exists() else Finished(2, b"", b"")
        else:
            assert argv[0] == "unlink"
            unlink(list(argv[1:]))
        return Finished(0, b"", b"")


def test_the_script_builds_runs_and_leaves_the_status_and_is_removed(tmp_path: Path) -> None:
    files = Files()
    folders = HomeFolders(files)
    (tmp_path / "job 'ü'").mkdir()
    record = Record(**{**vars(RECORD), "dir": f"{tmp_path}/job 'ü'", "build": ("echo built > b",)})
    (tmp_path / "job 'ü'" / "p").write_text('#!/bin/sh\ncat b; echo "$1 $2" > out; exit 7\n')
    (tmp_path / "job 'ü'" / "p").chmod(0o755)
    job = folders.prepare(record, "mg_a.1_0")
    assert (job.name, job.user, job.cwd) == ("mg_a.1_0", "alice", record.dir)
    assert folders.read_exit(record) == ""
    assert run(["/bin/sh", job.wrapper]).status == 7
    assert folders.read_exit(record) == "7"
    assert (tmp_path / "job 'ü'" / "out").read_text() == "1 2 $x\n"
    folders.clear(record)
    assert {one.name for one in (tmp_path / "job 'ü'").iterdir()} == {"b", "mg-build.log", "out", "p"}
    assert files.users == {"alice"}


def test_a_build_that_fails_is_the_jobs_status_and_the_program_does_not_run(tmp_path: Path) -> None:
    folders = HomeFolders(Files())
    record = Record(
        **{**vars(RECORD), "dir": str(tmp_path), "build": ("exit 9",), "prog": "/bin/touch", "args": ("x",)}
    )
    assert run(["/bin/sh", folders.prepare(record, "n").wrapper]).status == 9
    assert folders.read_exit(record) == "9"
    assert not (tmp_path / "x").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    record = Record(**{**vars(RECORD), "dir": str(tmp_path)})
    with pytest.raises(NotPrepared, match=f"{tmp_path}: Permission denied"):
        HomeFolders(Files("write")).prepare(record, "n")
    with pytest.raises(NotPrepared, match="must be NAME=VALUE"):
        HomeFolders(Files()).prepare(Record(**{**vars(record), "env": ("1",)}), "n")


def test_clearing_leaves_the_folder_as_open_to_its_group_as_it_was_and_makes_none_anew(tmp_path: Path) -> None:
    folder = tmp_path / "case01"
    folder.mkdir()
    folder.chmod(0o2775)
    record = Record(**{**vars(RECORD), "dir": str(folder)})
    folders = HomeFolders(Files())
    folders.prepare(record, "n")
    (folder / ".mg.a.1.exit").write_text("0\n")
    folders.clear(record)
    assert list(folder.iterdir()) == []
    assert stat.S_IMODE(folder.stat().st_mode) == 0o2775
    folder.rmdir()
    folders.clear(record)
    assert not folder.exists()


def test_a_status_that_cannot_be_read_is_not_none(tmp_path: Path) -> None:
    record = Record(**{**vars(RECORD), "dir": str(tmp_path)})
    with pytest.raises(UnreadableError, match=f"{tmp_path}/.mg.a.1.exit: cannot be read: Permission denied"):
        HomeFolders(Files("read")).read_exit(record)
