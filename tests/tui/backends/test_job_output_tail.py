"""The end of a job's output is read from the spool or its place, from a regular file of its owner alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.scripted_server import a_job, running
from tui.backends import job_output_tail
from tui.backends.job_output_tail import TAIL_BYTES, TAIL_LINES, tail_of


@pytest.fixture(autouse=True)
def _alice_is_who_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_output_tail, "find_uid", {"alice": os.getuid()}.get)


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


def ended(path: Path) -> dict[str, str]:
    return {**a_job("alice", 1, "F"), "Output_Path": f"v1:{path}"}


def test_a_running_job_is_read_from_the_spool_and_an_ended_one_from_its_place(spool: Path, tmp_path: Path) -> None:
    final = tmp_path / "sim.o11"
    (spool / "11.hpc1.OU").write_text("step 1\nstep 2\n")
    runs = running("alice", 1, "v1", Output_Path=f"v1:{final}")
    assert tail_of("11.hpc1", runs, spool).lines == ("step 1", "step 2")
    final.write_text("done\n")
    assert tail_of("11.hpc1", ended(final), spool).lines == ("done",)


def test_a_running_job_that_writes_in_place_is_read_there(spool: Path, tmp_path: Path) -> None:
    final = tmp_path / "sim.o11"
    final.write_text("in place\n")
    assert tail_of("11.hpc1", running("alice", 1, "v1", Output_Path=f"v1:{final}"), spool).lines == ("in place",)


def test_only_a_bounded_end_of_a_long_file_is_read(spool: Path, tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_text("".join(f"line {number}\n" for number in range(100_000)))
    tail = tail_of("1.hpc1", ended(path), spool)
    assert len(tail.lines) == TAIL_LINES
    assert tail.lines[-1] == "line 99999"
    path.write_bytes(b"x" * (3 * TAIL_BYTES))
    assert sum(map(len, tail_of("1.hpc1", ended(path), spool).lines)) == TAIL_BYTES


def test_nothing_but_a_regular_file_is_opened(spool: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path, Path("/dev/zero")):
        tail = tail_of("1.hpc1", ended(path), spool)
        assert tail.lines == ()
        assert "no regular file" in tail.problem


def test_only_a_file_of_the_jobs_owner_is_opened_and_no_link_is_followed(spool: Path, tmp_path: Path) -> None:
    path, link = tmp_path / "sim.o1", tmp_path / "link"
    path.write_text("secret\n")
    link.symlink_to(path)
    assert "Too many levels of symbolic links" in tail_of("1.hpc1", ended(link), spool).problem or (
        "no regular file" in tail_of("1.hpc1", ended(link), spool).problem
    )
    others = {**ended(path), "euser": "bob", "Job_Owner": "bob@login"}
    tail = tail_of("1.hpc1", others, spool)
    assert (tail.lines, tail.problem) == ((), f"{path}: it does not belong to bob, the job's owner on this host")
    assert tail_of("1.hpc1", ended(path), spool).lines == ("secret",)


def test_a_fifo_is_not_even_opened(spool: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert "no regular file" in tail_of("1.hpc1", ended(fifo), spool).problem
    finally:
        os.close(reader)


def test_what_cannot_be_read_is_reported_with_its_path(spool: Path, tmp_path: Path) -> None:
    tail = tail_of("11.hpc1", running("alice", 1, "v1", Output_Path=f"v1:{tmp_path}/none"), spool)
    assert f"{spool}/11.hpc1.OU: No such file" in tail.problem
    assert f"{tmp_path}/none: No such file" in tail.problem
    assert "does not run now" in tail_of("1.hpc1", a_job("bob", 1, Output_Path="v1:/x"), spool).problem
    assert "does not say" in tail_of("1.hpc1", a_job("bob", 1), spool).problem
    assert "simulated" in tail_of("1.hpc1", a_job("bob", 1), None).problem


def test_bytes_that_are_no_text_come_out_as_some(spool: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"a\xff\x00b\x1b[2J\n")
    assert tail_of("1.hpc1", ended(path), spool).lines == ("a\N{REPLACEMENT CHARACTER}\x00b\x1b[2J",)
