"""One value is looked for in a queue file, and no other line is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.spool import find_records_by_value as finding
from migration.spool.queue_file import Queue
from migration.spool.record_as_key_value_line import from_line, to_line
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.spool.record_strategies import RECORDS

KEY = "ssh-rsa " + "A" * 40 + "=="


def write(home: Path, *records: Record, end: str = "\n") -> Spool:
    (home / "sent.q").write_text("\n".join(map(to_line, records)) + end)
    return Spool(home)


def test_only_the_lines_with_the_value_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def count(line: str) -> Record:
        read.append(line)
        return from_line(line)

    monkeypatch.setattr(finding, "from_line", count)
    others = [Record(gid=f"a.{number}", datakey=f"{KEY[:-2]}{number}", args=(KEY,)) for number in range(2, 2000)]
    mine = Record(gid="a.1", datakey=KEY)
    spool = write(tmp_path, *others, mine)
    assert spool.find(Queue.SENT, "datakey", KEY) == mine
    assert spool.find(Queue.SENT, "gid", "a.1") == mine
    assert read == [to_line(mine)] * 2
    assert spool.find(Queue.SENT, "datakey", KEY[:-2]) is None


def test_no_other_value_is_taken_for_it(tmp_path: Path) -> None:
    text = f"x\tdatakey={KEY}\t"
    spool = write(tmp_path, Record(gid="a.1", args=(text,), name=text, reason=f"datakey={KEY}"))
    assert spool.find(Queue.SENT, "datakey", KEY) is None


def test_the_newest_of_several_lines_counts_and_one_cut_off_does_not(tmp_path: Path) -> None:
    old = Record(gid="a.1", datakey=KEY, rev=1)
    newer = replace(old, rev=3)
    assert write(tmp_path, newer, old).find(Queue.SENT, "datakey", KEY) == newer
    assert write(tmp_path, old, newer, end="").find(Queue.SENT, "datakey", KEY) == old
    assert Spool(tmp_path).find(Queue.DONE, "datakey", KEY) is None


@given(st.lists(RECORDS, max_size=4, unique_by=lambda record: record.gid))
def test_every_record_is_found_by_its_id(tmp_path_factory: pytest.TempPathFactory, records: list[Record]) -> None:
    spool = write(tmp_path_factory.mktemp("q"), *records)
    for record in records:
        assert spool.find(Queue.SENT, "gid", record.gid) == record
