"""The console reads the journal of passes: each line once, whole and bounded, whatever stands between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hooks.store.state_files import LAST_PASS, State
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Window
from tests.tui.scripted_server import NOON_S
from tests.tui.written_journal_and_audit import DAY, a_pass, a_start, write_journal
from tui.backends import pass_journal
from tui.backends.pass_journal import KEPT, JournalReader


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pbsteer"


def test_what_is_appended_between_two_looks_is_read_once(folder: Path) -> None:
    write_journal(folder, a_pass(60), a_pass(45))
    reader = JournalReader(folder)
    assert [entry.time_s - NOON_S for entry in reader.read().entries] == [-60, -45]
    write_journal(folder, a_pass(30))
    assert [entry.time_s - NOON_S for entry in reader.read().entries] == [-60, -45, -30]
    assert len(reader.read().entries) == 3


def test_the_closures_of_the_last_pass_are_read_and_those_of_another_version_unknown(folder: Path) -> None:
    write_journal(folder, a_pass(60))
    reader, state = JournalReader(folder), State(folder)
    assert reader.read().closed is None
    state.publish(LAST_PASS, {"closed": {"workq": [[NOON_S, None, "dedicated time", "runs", 0]]}}, shared=True)
    first = reader.read().closed
    assert first == {"workq": (Window(NOON_S, UNLIMITED_S, "dedicated time"),)}
    state.publish(LAST_PASS, {"closed": {"workq": [[NOON_S, None, "dedicated time", "runs", 0]]}}, shared=True)
    assert reader.read().closed is first
    others: tuple[object, ...] = ([], {"workq": 1}, {"workq": [[1]]}, {"workq": [["x", 1, "", "runs", 0]]})
    for other in others:
        state.publish(LAST_PASS, {"closed": other}, shared=True)
        assert reader.read().closed is None


def test_half_a_line_waits_for_its_other_half(folder: Path) -> None:
    write_journal(folder, a_pass(60))
    reader, file = JournalReader(folder), folder / f"journal-{DAY}.1.jsonl"
    reader.read()
    line = json.dumps(a_pass(45))
    with file.open("a") as appended:
        appended.write(line[:20])
    assert len(reader.read().entries) == 1
    with file.open("a") as appended:
        appended.write(line[20:] + "\n")
    assert len(reader.read().entries) == 2


def test_a_line_cut_off_for_good_is_left_out_and_the_next_file_read(folder: Path) -> None:
    write_journal(folder, a_pass(60))
    reader = JournalReader(folder)
    reader.read()
    with (folder / f"journal-{DAY}.1.jsonl").open("a") as cut_off:
        cut_off.write('{"time_s": 17')
    write_journal(folder, a_pass(15))
    assert (folder / f"journal-{DAY}.2.jsonl").exists()
    assert [entry.time_s - NOON_S for entry in reader.read().entries] == [-60, -15]


def test_lines_of_another_version_or_none_at_all_are_passed_over(folder: Path) -> None:
    write_journal(folder, a_pass(60, starts="none", notes=[1, "one"], modes=[], waiting="many"))
    with (folder / f"journal-{DAY}.1.jsonl").open("ab") as file:
        file.write(b'[]\n"x"\n{"time_s": []}\n\xff\xfe\n' + b"[" * 5000 + b'\n{"time_s": 1' + b"0" * 400 + b"}\n")
    (entry,) = JournalReader(folder).read().entries
    assert (entry.parts("starts"), entry.texts("notes"), entry.table("modes"), entry.number("waiting")) == (
        [],
        ["one"],
        {},
        0.0,
    )


def test_only_the_last_passes_are_kept_and_a_bounded_end_of_a_long_journal_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_journal(folder, *(a_pass(10_000 - n) for n in range(KEPT + 20)))
    assert len(JournalReader(folder).read().entries) == KEPT
    monkeypatch.setattr(pass_journal, "_FIRST_BYTES", 3000)
    few = JournalReader(folder).read().entries
    assert 1 < len(few) < 10
    assert few[-1].time_s == NOON_S - 10_000 + KEPT + 19


def test_the_idle_cores_are_means_by_the_hour_and_what_a_pass_starts_is_not_idle(folder: Path) -> None:
    """One sample alone counts as a second; ten seconds later jobs have left 7 idle, and 2 of these are taken."""
    later = a_pass(7190, idle_cores=7, starts=[a_start("1.s", cores=2), a_start("2.s", cores=4)], started=["1.s"])
    write_journal(folder, a_pass(7200, idle_cores=1), later, a_pass(7180, idle_cores=5), a_pass(0, idle_cores=8))
    hour, last = int((NOON_S - 7200) // 3600), int(NOON_S // 3600)
    idle = JournalReader(folder).read().idle
    assert idle == {hour: (21.0, pytest.approx((1 + 10 * 4 + 10 * 5) / 21)), last: (1.0, 8.0)}


def test_all_passes_that_name_a_job_are_found_and_no_others(folder: Path) -> None:
    write_journal(folder, a_pass(60, starts=[a_start("1.hpc1")]), a_pass(45), a_pass(30, started=["1.hpc1"]))
    write_journal(folder, a_pass(15, starts=[a_start("11.hpc1")]))
    assert [entry.time_s - NOON_S for entry in JournalReader(folder).about("1.hpc1")] == [-60, -30]


def test_the_passes_about_an_array_are_also_those_about_its_subjobs(folder: Path) -> None:
    write_journal(folder, a_pass(60, starts=[a_start("1[7].hpc1")]), a_pass(45, starts=[a_start("11[7].hpc1")]))
    write_journal(folder, a_pass(30, estimates=[{"job": "1[].hpc1", "at_s": None}]))
    reader = JournalReader(folder)
    assert [entry.time_s - NOON_S for entry in reader.about("1[].hpc1")] == [-60, -30]
    assert [entry.time_s - NOON_S for entry in reader.about("1[7].hpc1")] == [-60]


def test_what_stands_in_the_way_is_reported(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no pass has been made" in JournalReader(folder).read().problem
    assert "not on this host" in JournalReader(tmp_path / "home" / "pbsteer").read().problem
    write_journal(folder, a_pass(1))
    monkeypatch.setattr("os.access", lambda *_: False)
    assert "server.journal_group" in JournalReader(folder).read().problem
    assert JournalReader(folder).about("1.hpc1") == []
