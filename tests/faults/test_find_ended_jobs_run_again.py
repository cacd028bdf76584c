"""A job that is done and is run again: with need, as nothing tells its end from a save, or without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.accounting_and_job_log_invariants import Spell, time_of
from tests.faults.find_ended_jobs_run_again import count_run_again, find_needless

AT = "11/22/2026 11:38:03"
AT_S = time_of(f"{AT};")
DONE = Spell("1.s", "m1", AT_S - 40, AT_S - 1, 5, is_whole=True)
BEGAN = "11/22/2026 11:37:50;0002;pbs_mom;Svr;Log;Log opened"


def line(status: int, until_s: float) -> str:
    words = f"it was asked at {AT_S - 30:.0f} to save until {until_s:.0f}, in a run since {AT_S - 41:.0f}"
    return f"{AT};0008;pbs_python;Job;1.s;pbsteer: it ended with {status} and is requeued, after 0.1 s: {words}"


@pytest.mark.parametrize(
    ("lines", "spell", "needless"),
    [
        ([line(0, AT_S - 18)], DONE, True),
        ([line(0, AT_S - 2)], DONE, False),
        ([line(85, AT_S - 18)], DONE, False),
        ([line(0, AT_S - 18)], DONE._replace(is_whole=False), False),
        ([line(0, AT_S - 18)], DONE._replace(job="2.s"), False),
        ([line(0, AT_S - 18)], DONE._replace(end_s=AT_S - 300), False),
        ([BEGAN, line(0, AT_S - 18)], DONE, False),
        ([line(0, AT_S - 18).replace("is requeued", "has ended")], DONE, False),
    ],
)
def test_only_what_was_done_after_its_time_is_without_need(
    tmp_path: Path, lines: list[str], spell: Spell, needless: bool
) -> None:
    log = tmp_path / "20261122"
    log.write_text("\n".join(lines) + "\n")
    found = find_needless([log], [spell], 85)
    assert bool(found) is needless
    assert not needless or found == ["1.s was done 17.0 s after its time to save, and is run again"]


def test_jobs_that_did_their_work_twice_are_counted() -> None:
    assert count_run_again([DONE, DONE, DONE._replace(is_whole=False), DONE._replace(job="2.s")]) == 1
