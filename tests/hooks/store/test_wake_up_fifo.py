"""The writing end of the wake-up FIFO never waits, never fails, and writes into nothing but root's own FIFO."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hooks.store.wake_up_fifo import FIFO, open_fifo, wake


def read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 20)
    except BlockingIOError:
        return b""


def test_a_write_without_a_reader_is_lost(tmp_path: Path) -> None:
    wake(str(tmp_path / "no folder"))
    wake(str(tmp_path))
    os.mkfifo(tmp_path / FIFO, 0o600)
    wake(str(tmp_path))
    descriptor = open_fifo(str(tmp_path))
    assert descriptor is not None
    assert read(descriptor) == b""
    wake(str(tmp_path))
    assert read(descriptor) == b"\n"
    os.close(descriptor)


def test_a_full_fifo_blocks_no_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FIFO, 0o600)
    descriptor = open_fifo(str(tmp_path))
    assert descriptor is not None
    with pytest.raises(BlockingIOError):
        while True:
            os.write(descriptor, bytes(4096))
    wake(str(tmp_path))
    assert b"\n" not in read(descriptor)
    os.close(descriptor)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o604, 0o640])
def test_a_fifo_that_others_may_open_is_not_used(tmp_path: Path, mode: int) -> None:
    os.mkfifo(tmp_path / FIFO)
    (tmp_path / FIFO).chmod(mode)
    assert open_fifo(str(tmp_path)) is None


def test_another_owners_fifo_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / FIFO, 0o600)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert open_fifo(str(tmp_path)) is None


def test_a_link_to_a_fifo_and_a_file_are_not_used(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "elsewhere", 0o600)
    (tmp_path / FIFO).symlink_to(tmp_path / "elsewhere")
    assert open_fifo(str(tmp_path)) is None
    (tmp_path / FIFO).unlink()
    (tmp_path / FIFO).write_bytes(b"")
    (tmp_path / FIFO).chmod(0o600)
    wake(str(tmp_path))
    assert (tmp_path / FIFO).read_bytes() == b""


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / FIFO, 0o600)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for mode in (0o600, 0o666):
        (tmp_path / FIFO).chmod(mode)
        wake(str(tmp_path))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
