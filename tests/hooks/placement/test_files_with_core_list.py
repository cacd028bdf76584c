"""The files of a job's list on its hosts: written once, found again, deleted with the job."""

from __future__ import annotations

from pathlib import Path

from hooks.placement.files_with_core_list import entries_of_host, write_lists
from hooks.placement.find_left_core_lists import find_left_core_lists
from policy.model.lists_for_programs import Entry

ENTRIES = (Entry("n2", "n2", 4, (1,), (16, 17), 32), Entry("n4.site", "n4", 2, (0,), (), 32))


def test_the_files_say_what_explain_says_and_anybody_reads_them(tmp_path: Path) -> None:
    (tmp_path / "aux").mkdir()
    paths = write_lists(tmp_path, "12[3].server", ENTRIES)
    assert {variable: path.read_text() for variable, path in paths.items()} == {
        "PBSTEER_RANKED": "n2 sockets 1 cores 16-17\nn4.site sockets 0\n",
        "PBSTEER_OPEN_MPI": "n2 slots=4\nn4 slots=2\n",
        "PBSTEER_MPICH": "n2:4\nn4:2\n",
    }
    assert {path.stat().st_mode & 0o777 for path in paths.values()} == {0o644}
    inodes = {path.stat().st_ino for path in paths.values()}
    assert {path.stat().st_ino for path in write_lists(tmp_path, "12[3].server", ENTRIES).values()} == inodes


def test_lists_of_jobs_that_are_gone_are_found_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "aux").mkdir()
    (tmp_path / "aux/1.server").touch()
    kept = write_lists(tmp_path, "1.server", ENTRIES)
    left = write_lists(tmp_path, "2.server", ENTRIES)
    assert find_left_core_lists(tmp_path, lambda job_id: job_id != "1.server") == sorted(left.values())
    assert not set(kept.values()) & set(left.values())
    assert find_left_core_lists(tmp_path / "none", lambda _: True) == []


def test_a_host_has_the_entries_of_its_vnodes() -> None:
    assert entries_of_host(ENTRIES, "n2") == ENTRIES[:1]
    assert entries_of_host(ENTRIES, "n4.site") == ENTRIES[1:]
    assert entries_of_host(ENTRIES, "n4") == ENTRIES[1:]
    assert entries_of_host(ENTRIES, "n1") == ()
