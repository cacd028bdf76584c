"""Compiled modules are taken from disk only if the file is root's alone, whole, and of the same sources and Python."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from hooks.store import compiled_modules
from hooks.store.compiled_modules import COMPILED, read_compiled, write_compiled
from hooks.store.state_folder import state_folder

CODES: dict[str, CodeType] = {"a.b": compile("x = 1", "<a.b>", "exec"), "c": compile("y = 2", "<c>", "exec")}
SOURCES = {"a.b": "x = 1", "c": "y = 2"}


@pytest.fixture
def home(tmp_path: Path) -> str:
    state_folder(str(tmp_path)).mkdir()
    write_compiled(str(tmp_path), SOURCES, CODES)
    return str(tmp_path)


def test_what_was_written_is_read(home: str) -> None:
    assert read_compiled(home, SOURCES) == CODES
    assert (state_folder(home) / COMPILED).stat().st_mode & 0o777 == 0o600


def test_other_sources_and_another_python_have_nothing(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_compiled(home, {**SOURCES, "c": "y = 3"}) == {}
    monkeypatch.setattr(compiled_modules, "MAGIC_NUMBER", b"\x00\x0c\r\n")
    assert read_compiled(home, SOURCES) == {}


def test_without_a_folder_nothing_is_read_and_nothing_made(tmp_path: Path) -> None:
    assert read_compiled(str(tmp_path), SOURCES) == {}
    with pytest.raises(FileNotFoundError):
        write_compiled(str(tmp_path), SOURCES, CODES)
    assert list(tmp_path.iterdir()) == []


def _cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _change_the_last_byte(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def _let_others_write(path: Path) -> None:
    path.chmod(0o620)


def _let_others_read(path: Path) -> None:
    path.chmod(0o604)


def _put_a_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _put_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def _put_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil",
    [
        _cut_off,
        _change_the_last_byte,
        _let_others_write,
        _let_others_read,
        _put_a_link,
        _put_a_pipe,
        _put_a_folder,
        _empty,
    ],
)
def test_a_file_that_cannot_be_trusted_is_not_used(home: str, spoil: Callable[[Path], None]) -> None:
    spoil(state_folder(home) / COMPILED)
    assert read_compiled(home, SOURCES) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_someone_else_is_not_used(home: str) -> None:
    os.chown(state_folder(home) / COMPILED, 1, -1)
    assert read_compiled(home, SOURCES) == {}


def test_a_file_that_holds_something_else_than_code_is_not_used(home: str) -> None:
    other: Any = {"a.b": "x = 1", "c": 2}
    write_compiled(home, SOURCES, other)
    assert read_compiled(home, SOURCES) == {}
