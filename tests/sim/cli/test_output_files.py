"""Files that a command writes: refused before the work if they could not be written, or if two options name one."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sim.cli.output_files import check_writable, writing
from sim.cli.replay_options import CommandError


def test_a_file_that_could_be_written_passes_and_so_does_none(tmp_path: Path) -> None:
    check_writable({"--csv": tmp_path / "a.csv", "--jobs-csv": None})


@pytest.mark.parametrize("name", [".", "absent/a.csv"])
def test_a_file_that_could_not_be_written_is_named_with_its_option(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match=r"^--csv .*: must be a file in a folder that exists$"):
        check_writable({"--csv": tmp_path / name})


def test_a_failure_to_write_names_the_option_and_the_cause(tmp_path: Path) -> None:
    with (
        pytest.raises(CommandError, match=r"^--csv .*full: No space left on device$"),
        writing("--csv", tmp_path / "full"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_name_that_is_too_long_is_refused_with_the_cause(tmp_path: Path) -> None:
    fits, name = "x" * 250, "x" * 252
    check_writable({"--csv": tmp_path / f"{fits}.csv"})
    with pytest.raises(CommandError, match=r"^--csv .*x.csv: File name too long$"):
        check_writable({"--csv": tmp_path / f"{name}.csv"})
    with pytest.raises(CommandError, match=r"^--jobs-csv .*x-fcfs.csv: File name too long$"):
        check_writable({"--jobs-csv": tmp_path / f"{fits}.csv"}, ["fcfs", "easy"])


@pytest.mark.parametrize("policies", [["easy"], ["fcfs", "easy"]])
def test_two_options_name_two_files(tmp_path: Path, policies: list[str]) -> None:
    """However they are written, and also where a policy's name makes them one."""
    path = tmp_path / "a.csv"
    (tmp_path / "link").symlink_to(path)
    for other in (path, tmp_path / ".." / tmp_path.name / "a.csv", tmp_path / "link"):
        with pytest.raises(CommandError, match=r"^--losers-csv .*: --csv writes this file too; give each"):
            check_writable({"--csv": path, "--losers-csv": other}, policies)
    with pytest.raises(CommandError, match=r"^--runs-csv .*: --jobs-csv writes this file too"):
        check_writable({"--jobs-csv": path, "--runs-csv": path}, policies)


def test_the_file_of_a_policy_may_be_that_of_another_option(tmp_path: Path) -> None:
    files = {"--csv": tmp_path / "a-easy.csv", "--jobs-csv": tmp_path / "a.csv"}
    check_writable(files, ["easy"])
    with pytest.raises(CommandError, match=r"^--jobs-csv .*a-easy.csv: --csv writes this file too"):
        check_writable(files, ["fcfs", "easy"])


def test_a_file_in_a_folder_that_takes_none_is_refused() -> None:
    """Not even root can make a file there, as no other user could in a folder that is not theirs."""
    with pytest.raises(CommandError, match=r"^--csv /proc/jobs\.csv: No such file or directory$"):
        check_writable({"--csv": Path("/proc/jobs.csv")})


def test_what_is_looked_at_is_left_as_it_is(tmp_path: Path) -> None:
    there = tmp_path / "there.csv"
    there.write_text("kept")
    check_writable({"--csv": there, "--jobs-csv": tmp_path / "new.csv", "--runs-csv": Path("/dev/null")})
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert there.read_text() == "kept"
