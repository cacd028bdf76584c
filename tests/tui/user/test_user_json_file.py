"""A file that consoles keep: read forgivingly, changed under a lock, replaced whole, broken ones put aside."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from hooks.store.folder_lock import locked, open_lock
from tui.user import user_json_file as kept
from tui.user.user_json_file import Data, KeptFile


@pytest.fixture
def file(tmp_path: Path) -> KeptFile:
    return KeptFile(tmp_path / "below" / "kept.json")


def path_of(file: KeptFile) -> Path:
    assert file.path is not None
    return file.path


def added(key: str) -> Data:
    return {key: 1}


def test_what_was_changed_is_read_back_by_its_owner_alone(file: KeptFile) -> None:
    assert file.change(lambda data: {**data, "theme": "light"}) == ""
    assert file.read().data["theme"] == "light"
    assert stat.S_IMODE(path_of(file).stat().st_mode) == 0o600
    assert stat.S_IMODE(path_of(file).parent.stat().st_mode) == 0o700


def test_without_a_path_nothing_is_kept() -> None:
    nowhere = KeptFile(None)
    assert nowhere.change(lambda data: {"a": 1}) == ""
    assert nowhere.read() == ({}, "", False)


def test_changes_from_many_sides_are_all_kept(file: KeptFile) -> None:
    def change(name: str) -> None:
        for number in range(10):
            assert file.change(lambda data, key=f"{name}{number}": {**data, key: True}) == ""  # type: ignore[misc]

    threads = [threading.Thread(target=change, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(json.loads(path_of(file).read_text())) == {"version"} | {f"{n}{i}" for n in "abc" for i in range(10)}


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"version": "1"}', '{"theme": "x"}', "[" * 100_000])
def test_a_broken_file_is_reported_and_put_aside_by_the_next_change(file: KeptFile, text: str) -> None:
    path_of(file).parent.mkdir()
    path_of(file).write_text(text)
    found = file.read()
    assert found.data == {}
    assert str(path_of(file)) in found.problem
    assert file.change(lambda data: {**data, "b": 2}) == ""
    assert file.read().data["b"] == 2
    assert path_of(file).with_name("kept.unreadable.json").read_text() == text


def test_data_that_cannot_be_used_are_put_aside_too(file: KeptFile) -> None:
    file.change(lambda _: {"theme": 7})
    assert file.change(lambda data: {**data, "b": 2}, lambda data: "no" if data.get("theme") == 7 else "") == ""
    assert "theme" not in file.read().data


def test_a_newer_file_is_left_alone(file: KeptFile) -> None:
    path_of(file).parent.mkdir()
    path_of(file).write_text('{"version": 2, "new": 1}')
    assert "version 2" in file.read().problem
    assert "not changed" in file.change(lambda _: {})
    assert json.loads(path_of(file).read_text()) == {"version": 2, "new": 1}


def test_a_lock_that_is_never_unlocked_is_reported(file: KeptFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_PATIENCE_S", 0.1)
    path_of(file).parent.mkdir()
    with locked(open_lock(path_of(file).parent)):
        assert "is locked by another console" in file.change(lambda _: {"a": 1})
    assert not path_of(file).exists()


def test_a_kill_while_writing_leaves_what_was_there(file: KeptFile) -> None:
    file.change(lambda _: {"a": 1})
    child = os.fork()
    if child == 0:
        os.environ.clear()
        file.change(lambda _: os._exit(9))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 9
    assert file.read().data["a"] == 1
    assert file.change(lambda data: {**data, "b": 2}) == "", "the lock went with the one that held it"
