"""The spool keeps its records in order and each job once; a bad line is put aside and shown, never lost."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from pathlib import Path

import pytest

from migration.spool.queue_file import Queue
from migration.spool.spool import Spool, SpoolError, StaleRecordError
from policy.migration.job_record_and_copy_updates import Record, advance, amend

ONE = Record(gid="a.1", user="alice", src="a", cores=4)
TWO = Record(gid="a.2", user="bob", src="a", cores=2)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path)


def test_records_stay_in_their_order(spool: Spool) -> None:
    with spool.change() as change:
        change.put(Queue.REQUEST, ONE)
        change.put(Queue.REQUEST, TWO)
        change.put(Queue.REQUEST, amend(ONE, reason="later"))
    assert [record.gid for record in spool.read(Queue.REQUEST)] == ["a.1", "a.2"]
    assert Spool(spool.home).read(Queue.REQUEST) == spool.read(Queue.REQUEST)


def test_a_spool_without_files_is_empty(spool: Spool) -> None:
    assert [spool.read(queue) for queue in Queue] == [[], [], [], []]


def test_a_move_and_a_find(spool: Spool) -> None:
    with spool.change() as change:
        change.put(Queue.REQUEST, ONE)
        offered = advance(ONE, "offer", 5, dst="b")
        change.move(Queue.REQUEST, Queue.SENT, offered)
        assert change.find("a.1") == (Queue.SENT, offered)
        assert change.find("a.9") is None
        change.remove(Queue.SENT, "a.9")
    assert (spool.read(Queue.REQUEST), spool.read(Queue.SENT)) == ([], [offered])


def test_an_older_copy_never_overwrites_a_newer_one(spool: Spool) -> None:
    with spool.change() as change:
        change.put(Queue.SENT, replace(ONE, attempt=2, rev=5))
        for older in (replace(ONE, attempt=2, rev=4), replace(ONE, attempt=1, rev=9)):
            with pytest.raises(StaleRecordError, match=r"a\.1: attempt 2, rev 5 is newer"):
                change.put(Queue.SENT, older)
        change.put(Queue.SENT, replace(ONE, attempt=2, rev=5, stop="keep"))
        with pytest.raises(StaleRecordError):
            change.put_all(Queue.SENT, [TWO, replace(ONE, rev=1)])
    assert spool.read(Queue.SENT) == [replace(ONE, attempt=2, rev=5, stop="keep")]


def test_serials_are_never_given_out_twice(spool: Spool) -> None:
    with spool.change() as change:
        assert change.next_gids("a", 3) == ["a.1", "a.2", "a.3"]
    with Spool(spool.home).change() as change:
        assert change.next_gids("a", 1)[0] == "a.4"


@pytest.mark.parametrize("content", [None, "", "x"])
def test_a_lost_serial_file_begins_above_everything_that_was(spool: Spool, content: str | None) -> None:
    with spool.change() as change:
        change.put(Queue.REQUEST, replace(ONE, gid="a.99999999999"))
        if content is not None:
            (spool.home / "serial").write_text(content)
        assert change.next_gids("a", 1)[0] == "a.100000000000"
        (spool.home / "serial").unlink()
        change.remove(Queue.REQUEST, "a.99999999999")
        change.put(Queue.REQUEST, ONE)
        assert int(change.next_gids("a", 1)[0].split(".")[1]) > 1_700_000_000


def test_a_line_that_is_cut_off_is_bad_though_it_still_reads_as_a_record(spool: Spool) -> None:
    with spool.change() as change:
        change.put_all(Queue.REQUEST, [ONE, replace(TWO, reason="a long reason")])
    path = spool.home / "request.q"
    path.write_bytes(path.read_bytes()[:-5])
    assert Spool(spool.home).read(Queue.REQUEST) == [ONE]
    assert [bad.why for bad in Spool(spool.home).read_bad()] == ["cut off: the line has no end"]


def test_bad_lines_are_put_aside_and_shown_and_never_lost(spool: Spool) -> None:
    with spool.change() as change:
        change.put(Queue.REQUEST, ONE)
    path = spool.home / "request.q"
    path.write_bytes(b"garbage\n" + path.read_bytes() + b"v=1\tgid=a.2\tdir=\xff\xe9\n\nv=1\tgid=a.3\tcor")
    assert [bad.why for bad in spool.read_bad()] == [
        "'garbage': must be key=value", "the line has bytes outside printable ASCII", "cut off: the line has no end",
    ]  # fmt: skip
    assert spool.read(Queue.REQUEST) == [ONE]
    with spool.change() as change:
        change.put(Queue.REQUEST, TWO)
    assert spool.read(Queue.REQUEST) == [ONE, TWO]
    bad = spool.read_bad()
    assert [line.line for line in bad] == ["garbage", "v=1\tgid=a.2\tdir=\udcff\udce9", "v=1\tgid=a.3\tcor"]
    assert {line.file for line in bad} == {"request.q"}


def test_of_two_lines_of_one_job_the_newer_is_kept(spool: Spool) -> None:
    with spool.change() as change:
        change.put(Queue.REQUEST, amend(ONE, reason="newer"))
    path = spool.home / "request.q"
    line = path.read_text()
    path.write_text(line + line + line.replace("rev=2", "rev=1") + line.replace("rev=2", "rev=3"))
    with spool.change() as change:
        assert [record.rev for record in change.records(Queue.REQUEST)] == [3]
    assert [bad.why for bad in spool.read_bad()] == ["a.1: stands twice; the newer line is kept"] * 2


def test_a_job_in_two_files_is_mended(spool: Spool) -> None:
    with spool.change() as change:
        change.put(Queue.REQUEST, ONE)
        change.put(Queue.SENT, advance(ONE, "offer", 1, dst="b"))
        change.put(Queue.REQUEST, replace(TWO, rev=3))
        change.put(Queue.SENT, replace(TWO, rev=2))
        change.put(Queue.SENT, replace(ONE, gid="a.3"))
        change.put(Queue.DONE, replace(ONE, gid="a.3"))
    with Spool(spool.home).change() as change:
        assert [record.gid for record in change.records(Queue.REQUEST)] == ["a.2"]
        assert [record.gid for record in change.records(Queue.SENT)] == ["a.1"]
        assert [record.gid for record in change.records(Queue.DONE)] == ["a.3"]


def test_a_second_writer_waits_for_the_lock_and_says_so(spool: Spool) -> None:
    with spool.change():
        descriptor = os.open(spool.home / "lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(SpoolError, match="another process has held it"), Spool(spool.home).change(0.05):
            pass
        os.close(descriptor)
    with Spool(spool.home).change(0.05):
        pass


def test_a_change_of_another_process_is_seen(spool: Spool) -> None:
    with spool.change() as change:
        change.put(Queue.REQUEST, ONE)
    with Spool(spool.home).change() as other:
        other.put(Queue.REQUEST, TWO)
    assert [record.gid for record in spool.read(Queue.REQUEST)] == ["a.1", "a.2"]


def test_files_are_readable_whatever_the_umask(spool: Spool) -> None:
    before = os.umask(0o077)
    try:
        with spool.change() as change:
            change.put(Queue.REQUEST, ONE)
    finally:
        os.umask(before)
    assert (spool.home / "request.q").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpoolError, match="nowhere"), Spool(tmp_path / "nowhere").change():
        pass


def test_the_folder_of_a_job(spool: Spool) -> None:
    assert spool.job_folder("a.7") == spool.home / "jobs" / "a.7"
    with pytest.raises(ValueError, match="job id"):
        spool.job_folder("../../etc")
