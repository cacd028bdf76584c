"""An edited ``sched_config`` counts as unread until the scheduler's log says that it was read, or it started anew."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hooks.pbs.files_and_output.unread_sched_config_edit import find_unread_edit, read_process_start

EDITED_S = 1_795_207_300.0
NOW_S = EDITED_S + 100_000
DAY = time.strftime("%Y%m%d", time.localtime(EDITED_S))
NEXT = time.strftime("%Y%m%d", time.localtime(EDITED_S + 86400))
READ = "0040;pbs_sched;Sched;reconfigure;Scheduler is reconfiguring"
OTHER = "0080;pbs_sched;Req;;Starting Scheduling Cycle"


def line(at_s: float, text: str, fraction: str = "") -> str:
    return time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(at_s)) + f"{fraction};{text}\n"


@pytest.fixture
def texts(tmp_path: Path) -> dict[str, str]:
    for name in ("priv", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "priv" / "sched_config").write_text("")
    os.utime(tmp_path / "priv" / "sched_config", (EDITED_S, EDITED_S))
    return {"sched_priv": str(tmp_path / "priv"), "sched_log": str(tmp_path / "logs"), "log_events": "767"}


def find(
    texts: dict[str, str], logs: dict[str, str] | None = None, start_s: float | None = EDITED_S - 500
) -> float | None:
    for name, text in (logs or {}).items():
        (Path(texts["sched_log"]) / name).write_text(text)
    return find_unread_edit(texts, NOW_S, lambda _: start_s)


def test_an_edit_after_the_last_reading_is_unread(texts: dict[str, str]) -> None:
    before = line(EDITED_S - 5, READ) + line(EDITED_S + 5, OTHER)
    assert find(texts, {DAY: before}) == EDITED_S


@pytest.mark.parametrize("fraction", ["", ".123456"])
def test_a_reading_after_the_edit_is_found_on_its_day_or_later(texts: dict[str, str], fraction: str) -> None:
    assert find(texts, {DAY: line(EDITED_S, READ, fraction)}) is None
    assert find(texts, {DAY: line(EDITED_S, OTHER), NEXT: line(EDITED_S + 86400, READ, fraction)}) is None


def test_it_is_found_in_a_long_log(texts: dict[str, str]) -> None:
    lines = [line(EDITED_S - 30_000 + n, OTHER) for n in range(40_000)]
    assert find(texts, {DAY: "".join(lines)}) == EDITED_S
    lines[39_000] = line(EDITED_S + 9_000, READ)
    assert find(texts, {DAY: "".join(lines)}) is None


def test_a_scheduler_that_started_later_has_read_it(texts: dict[str, str]) -> None:
    assert find(texts, {DAY: ""}, EDITED_S + 1) is None


def test_what_cannot_be_told_is_believed(texts: dict[str, str]) -> None:
    assert find(texts) is None, "no log of that day"
    assert find(texts, {DAY: ""}, None) is None, "no process"
    assert find({**texts, "log_events": "15"}) is None, "readings are not logged"
    assert find({**texts, "log_events": ""}) is None
    assert find({"sched_priv": texts["sched_priv"]}) is None
    assert find_unread_edit(texts, EDITED_S - 10, lambda _: EDITED_S - 500) is None, "the clock was set back"


def test_only_a_process_of_that_name_is_the_scheduler(texts: dict[str, str]) -> None:
    lock = Path(texts["sched_priv"]) / "sched.lock"
    for number in ("", "none", "999999999", str(os.getpid())):
        lock.write_text(number)
        assert read_process_start(lock.parent) is None
