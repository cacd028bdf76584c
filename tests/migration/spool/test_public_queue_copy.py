"""What other users can read of a spool."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record

SECRETS: dict[str, Any] = {
    "env": ("TOKEN=s3cret",), "args": ("--password=s3cret",), "build": ("make KEY=s3cret",), "shared": ("/d/s3cret",),
    "exclude": ("s3cret*",), "nostage": ("s3cret*",), "datakey": "ssh-ed25519 s3cret", "more": {"new": "s3cret"},
}  # fmt: skip
RECORD = Record(gid="a.1", user="alice", src="a", cores=4, dir="/home/alice/j", prog="run", reason="short by 3 cores")


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    spool = Spool(tmp_path)
    with spool.change() as change:
        change.put(Queue.REQUEST, replace(RECORD, **SECRETS))
    return spool


def test_the_copy_for_all_has_no_private_values(spool: Spool) -> None:
    whole, copy = spool.home / "request.q", spool.home / "shown/request.q"
    assert whole.read_text().count("s3cret") == len(SECRETS)
    assert "s3cret" not in copy.read_text()
    assert whole.stat().st_mode & 0o777 == 0o640
    assert copy.stat().st_mode & 0o777 == 0o644


def test_another_user_reads_the_copy_and_the_service_the_file(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Spool(spool.home).read(Queue.REQUEST) == [replace(RECORD, **SECRETS)]
    monkeypatch.setattr("os.access", lambda *_: False)
    assert Spool(spool.home).read(Queue.REQUEST) == [RECORD]
    assert Spool(spool.home).read(Queue.SENT) == []


def test_a_copy_that_is_missing_or_old_is_written_with_the_next_change(spool: Spool) -> None:
    copy = spool.home / "shown/request.q"
    copy.write_text("")
    os.utime(copy, (0, 0))
    with Spool(spool.home).change():
        assert "gid=a.1" in copy.read_text()
    copy.unlink()
    with Spool(spool.home).change():
        assert "gid=a.1" in copy.read_text()
