"""Appending whole lines: what was cut off is ended, a full file is renamed, and only so many of those stay."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hooks.store import append_lines as module
from hooks.store.append_lines import append_lines


def test_a_line_that_was_cut_off_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    path.write_bytes(b'{"cut')
    append_lines(path, b"{}\n", full_bytes=100, sync=False)
    assert path.read_bytes() == b'{"cut\n{}\n'


def test_a_file_in_the_place_of_a_full_one_is_for_the_same_group(tmp_path: Path) -> None:
    path = tmp_path / "changes.jsonl"
    path.write_bytes(b"x" * 11 + b"\n")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, -1, 12345)
    group = path.stat().st_gid
    append_lines(path, b"{}\n", full_bytes=10, sync=False)
    assert path.read_bytes() == b"{}\n"
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_gid) == (0o640, group)
    assert len(list(tmp_path.glob("changes-2*.jsonl"))) == 1


def test_of_the_full_files_only_the_newest_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 3)
    for hour in range(5):
        (tmp_path / f"changes-20261122T{hour:02d}0000.jsonl").touch()
    others = [
        tmp_path / "changes-recorded.json",
        tmp_path / "changes-read.json",
        tmp_path / "journal-2026-11-22.1.jsonl",
    ]
    for other in others:
        other.touch()
    path = tmp_path / "changes.jsonl"
    path.write_bytes(b"x\n")
    append_lines(path, b"y\n", full_bytes=1, sync=False)
    kept = sorted(each.name for each in tmp_path.glob("changes-2*.jsonl"))
    assert (len(kept), kept[0]) == (3, "changes-20261122T030000.jsonl")
    assert all(other.exists() for other in others)
