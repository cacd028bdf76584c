"""Which files a log consists of, in which order they are read, and what cannot be read at all."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sim.traces.accounting_log import read_log
from sim.traces.accounting_log_files_and_lines import AccountingError, find_files, is_accounting
from tests.sim.accounting_builders import NOON_S, ended, write_log
from tests.sim.small_jobs_and_replays import swf_record, swf_text

DAY_S = 86_400


def a_day(path: Path, day: int = 0, job: int = 1) -> Path:
    return write_log(path, *ended(job, NOON_S + day * DAY_S, NOON_S + day * DAY_S + 60))


def test_a_folder_is_its_daily_files_alone(tmp_path: Path) -> None:
    a_day(tmp_path / "20251231")
    (tmp_path / "20260101").write_text("")
    for other in ("notes", "20251231.bak", "2025123"):
        (tmp_path / other).write_text("anything")
    (tmp_path / "20260102").mkdir()
    assert sorted(file.name for file in find_files([tmp_path])) == ["20251231", "20260101"]


def test_named_files_are_read_in_order_of_time(tmp_path: Path) -> None:
    later, earlier = a_day(tmp_path / "a", day=3), a_day(tmp_path / "b", day=-40)
    assert find_files([later, earlier]) == [earlier, later]


def test_gzipped_files_are_read_whatever_their_name(tmp_path: Path) -> None:
    plain = a_day(tmp_path / "20251231")
    packed = tmp_path / "20260101.gz"
    packed.write_bytes(gzip.compress(a_day(tmp_path / "second", day=1, job=2).read_bytes()))
    (tmp_path / "odd").write_bytes(packed.read_bytes())
    assert [job.id for job in read_log([plain, packed]).jobs] == ["1.hpc1", "2.hpc1"]
    assert [job.id for job in read_log([tmp_path / "odd"]).jobs] == ["2.hpc1"]


def test_line_ends_of_other_systems_are_line_ends(tmp_path: Path) -> None:
    path = a_day(tmp_path / "20251231")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    log = read_log([path])
    assert (len(log.jobs), log.skipped) == (1, {})


def test_the_same_day_twice_is_refused(tmp_path: Path) -> None:
    path = a_day(tmp_path / "20251231")
    (tmp_path / "20251231.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(AccountingError, match="the same records twice"):
        find_files([tmp_path])
    with pytest.raises(AccountingError, match="the same records twice"):
        find_files([path, path])


def test_a_folder_without_daily_files_says_how_they_are_named(tmp_path: Path) -> None:
    with pytest.raises(AccountingError, match=r"no accounting files in it: they are named YYYYMMDD or YYYYMMDD\.gz"):
        find_files([tmp_path])


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\n\n"])
def test_a_log_without_an_ended_job_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "20251231"
    path.write_bytes(content)
    with pytest.raises(AccountingError, match="20251231: no job that ran to its end"):
        read_log([path])


@pytest.mark.parametrize("content", ["hello\n", swf_text(swf_record())])
def test_of_several_files_each_must_be_a_log(tmp_path: Path, content: str) -> None:
    log, other = a_day(tmp_path / "20251231"), tmp_path / "other"
    other.write_text(content)
    with pytest.raises(AccountingError, match="other: no accounting log: none of its first 50 lines is a record"):
        find_files([log, other])
    with pytest.raises(AccountingError, match="absent: cannot be read: No such file"):
        find_files([log, tmp_path / "absent"])


def test_a_day_without_any_line_is_a_file_of_a_log(tmp_path: Path) -> None:
    log, empty = a_day(tmp_path / "20251231"), tmp_path / "20260101"
    empty.touch()
    assert set(find_files([log, empty])) == {log, empty}


def test_a_file_that_its_folder_has_as_well_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_day(tmp_path / "20251231")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AccountingError, match="the same records twice"):
        find_files([Path("20251231"), tmp_path])


def test_damaged_files_are_named_with_the_line(tmp_path: Path) -> None:
    lines = [line for job in range(2000) for line in ended(job, NOON_S + job, NOON_S + 60 + job)]
    packed = gzip.compress(write_log(tmp_path / "20251231", *lines).read_bytes())
    path = tmp_path / "20260101.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(AccountingError, match=r"20260101\.gz: line [1-9][0-9]+: damaged or incomplete gzip data"):
        read_log([path])
    with pytest.raises(AccountingError, match="absent: cannot be read: No such file"):
        read_log([tmp_path / "absent"])


def test_content_tells_an_accounting_log_from_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "20251231"
    trace.write_text(swf_text(swf_record()))
    assert not is_accounting(trace)
    assert is_accounting(a_day(tmp_path / "trace.swf"))
    assert is_accounting(tmp_path)
    damaged = a_day(tmp_path / "damaged")
    damaged.write_text("half a line\n" + damaged.read_text())
    assert is_accounting(damaged)
