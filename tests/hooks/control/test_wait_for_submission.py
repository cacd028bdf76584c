"""The reading end of the wake-up FIFO: made for root alone, and one wake-up for however many submissions."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hooks.control.wait_for_submission import SubmissionWait
from hooks.store.wake_up_fifo import FIFO, wake


@pytest.fixture
def wait(tmp_path: Path) -> Iterator[SubmissionWait]:
    with closing(SubmissionWait()) as made:
        made.open(tmp_path)
        yield made


def test_the_fifo_is_its_owners_alone_and_stays(wait: SubmissionWait, tmp_path: Path) -> None:
    wait.close()
    wait.open(tmp_path)
    mode = (tmp_path / FIFO).lstat().st_mode
    assert stat.S_ISFIFO(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_many_submissions_are_one_wake_up(wait: SubmissionWait, tmp_path: Path) -> None:
    assert not wait.wait(0)
    for _ in range(70_000):
        wake(str(tmp_path))
    assert wait.wait(60)
    assert not wait.wait(0)


def make_file(path: Path) -> None:
    path.write_bytes(b"a file")


@pytest.mark.parametrize("make", [make_file, Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_something_else_in_its_place_is_left_there_and_wakes_nobody(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / FIFO)
    before = (tmp_path / FIFO).lstat()
    with closing(SubmissionWait()) as wait:
        wait.open(tmp_path)
        wake(str(tmp_path))
        assert not wait.wait(0.001)
    assert (tmp_path / FIFO).lstat().st_mode == before.st_mode
    assert not (tmp_path / "elsewhere").exists()


def test_without_a_folder_it_only_sleeps(tmp_path: Path) -> None:
    with closing(SubmissionWait()) as wait:
        wait.open(tmp_path / "gone")
        assert not wait.wait(0.001)
