"""What our hooks wrote into the server's log: their complaints, whole days of them, and nobody else's lines."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hooks.deploy.health.hook_errors_in_log import Complaint, is_fresh, read_complaints

NOON_S = time.mktime((2026, 11, 22, 12, 0, 0, 0, 0, -1))


def line(at_s: float, text: str, kind: str = "Hook") -> str:
    stamp = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(at_s))
    return f"{stamp}.123456;0006;Server@s;{kind};Server@s;{text}\n"


def write(folder: Path, day: str, *lines: str) -> None:
    with (folder / day).open("a", encoding="utf-8") as log:
        log.writelines(lines)


def test_only_our_hooks_own_lines_are_complaints(tmp_path: Path) -> None:
    write(
        tmp_path,
        "20261122",
        line(NOON_S, "pbsteer: no pass: another one is busy"),
        line(NOON_S, "pbsteer: a job of this name", kind="Job"),
        line(NOON_S, "mgr_hook_set at request of root@s"),
        line(NOON_S, "somebody says ;pbsteer: in the middle"),
        "12.s;pbsteer: torn\n",
    )
    assert read_complaints(tmp_path, NOON_S) == [Complaint(NOON_S, "no pass: another one is busy")]


def test_of_a_traceback_the_first_and_the_last_line_are_reported(tmp_path: Path) -> None:
    begun = "the periodic hook failed and lets PBS go on: Traceback (most recent call last):"
    trace = f"pbsteer: {begun}\n  File x\n\nOSError: oh\n"
    write(tmp_path, "20261122", line(NOON_S, trace), line(NOON_S, "else"), line(NOON_S + 1, "pbsteer: at the end"))
    assert [each.text for each in read_complaints(tmp_path, NOON_S)] == [
        f"{begun} ... OSError: oh",
        "at the end",
    ]


def test_all_of_a_busy_day_are_counted_however_long_the_log(tmp_path: Path) -> None:
    noise = line(NOON_S, "x" * 200) * 20
    for minute in range(300):
        write(tmp_path, "20261122", line(NOON_S - 60 * minute, "pbsteer: oh"), noise)
    found = read_complaints(tmp_path, NOON_S)
    assert (len(found), sum(is_fresh(each, NOON_S) for each in found)) == (300, 60)


def test_the_last_hour_reaches_back_over_midnight(tmp_path: Path) -> None:
    midnight_s = NOON_S - 12 * 3600
    write(tmp_path, "20261121", line(midnight_s - 7200, "pbsteer: long ago"), line(midnight_s - 600, "pbsteer: late"))
    write(tmp_path, "20261122", line(midnight_s + 60, "pbsteer: early"))
    assert [each.text for each in read_complaints(tmp_path, midnight_s + 600)] == ["late", "early"]
    assert [each.text for each in read_complaints(tmp_path, NOON_S)] == ["early"]


def test_no_log_yet_is_no_complaint_and_one_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    assert read_complaints(tmp_path, NOON_S) == []
    (tmp_path / "20261122").mkdir()
    with pytest.raises(OSError, match="20261122"):
        read_complaints(tmp_path, NOON_S)


def test_bytes_and_times_that_make_no_sense_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "20261122").write_bytes(
        b"99/99/2026 99:99:99;0006;Server@s;Hook;Server@s;pbsteer: when\n"
        b"11/22/2026 11:59:00;0006;Server@s;Hook;Server@s;pbsteer: \xff\x00\n11/22/2026 11"
    )
    found = read_complaints(tmp_path, NOON_S)
    assert [(each.at_s, each.show()[:4]) for each in found] == [(0.0, "when"), (NOON_S - 60, "2026")]
