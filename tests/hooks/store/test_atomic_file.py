"""A file is replaced whole or stays as it was, with its mode and group, and no link is written through."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hooks.store.atomic_file import replace_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("old")
    return tmp_path / "file"


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_file_has_the_new_content_and_its_mode_whatever_the_umask(path: Path, mode: int, umask: int) -> None:
    before = os.umask(umask)
    try:
        replace_file(path, b"new", mode=mode)
    finally:
        os.umask(before)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert names(path) == ["file"]


def test_only_the_owner_may_read_it_unless_said(path: Path) -> None:
    path.chmod(0o666)
    replace_file(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("call", ["fchmod", "write", "fsync", "replace"])
def test_an_error_leaves_the_old_content_and_no_new_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patches:
        patches.setattr(os, call, fail)
        with pytest.raises(OSError, match="No space left"):
            replace_file(path, b"new")
    assert path.read_text() == "old"
    assert names(path) == ["file"]


def test_a_short_write_is_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    with monkeypatch.context() as patches:
        patches.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data)[:2]))
        replace_file(path, b"content")
    assert path.read_text() == "content"


@pytest.mark.parametrize("kind", ["symbolic", "hard", "dangling"])
def test_a_link_in_the_new_files_place_is_not_written_through(path: Path, kind: str) -> None:
    victim, fresh = path.with_name("victim"), path.with_name(".file.new")
    if kind != "dangling":
        victim.write_text("mine")
    if kind == "hard":
        os.link(victim, fresh)
    else:
        fresh.symlink_to(victim)
    replace_file(path, b"new")
    assert path.read_text() == "new"
    assert not path.is_symlink()
    assert victim.read_text() == "mine" if kind != "dangling" else not victim.exists()


def test_a_link_in_the_files_place_is_replaced_and_not_followed(path: Path) -> None:
    path.with_name("link").symlink_to(path)
    replace_file(path.with_name("link"), b"new")
    assert path.read_text() == "old"
    assert path.with_name("link").read_text() == "new"
    assert not path.with_name("link").is_symlink()


def test_file_and_folder_are_synced_unless_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    replace_file(path, b"new", sync=False)
    assert synced == []
    replace_file(path, b"new")
    assert len(synced) == 2
