"""Each job of an accounting log from record to record: when it could start, and what it ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.traces.accounting_log import read_log
from tests.sim.accounting_builders import (
    NOON_S,
    ended,
    fields,
    only,
    record,
    write_log,
)


def test_a_held_job_counts_from_when_it_became_eligible(tmp_path: Path) -> None:
    job = only(tmp_path, *ended(1, NOON_S + 500, NOON_S + 600, created=NOON_S, eligible=NOON_S + 400))
    assert (job.eligible_s, job.start_s, job.end_s, job.run_s) == (NOON_S + 400, NOON_S + 500, NOON_S + 600, 100)


def test_an_eligible_time_after_the_start_is_of_a_later_wait(tmp_path: Path) -> None:
    assert (
        only(tmp_path, *ended(1, NOON_S + 50, NOON_S + 60, created=NOON_S, eligible=NOON_S + 55)).eligible_s == NOON_S
    )


def test_an_end_record_alone_tells_the_job(tmp_path: Path) -> None:
    whole = only(tmp_path, *ended(1, NOON_S, NOON_S + 60))
    assert only(tmp_path, ended(1, NOON_S, NOON_S + 60)[2]) == whole


def test_a_second_start_without_a_requeue_record_is_one(tmp_path: Path) -> None:
    first = record("S", 1, NOON_S, fields(start=NOON_S))
    job = only(tmp_path, first, *ended(1, NOON_S + 100, NOON_S + 150, created=NOON_S)[1:])
    assert (job.requeues, job.start_s, job.run_s) == (1, NOON_S, 50)


def test_a_start_told_twice_is_no_requeue(tmp_path: Path) -> None:
    queued, start, end = ended(1, NOON_S, NOON_S + 60)
    assert only(tmp_path, queued, start, start, end).requeues == 0


def test_what_a_checkpoint_saved_is_work_and_no_requeue(tmp_path: Path) -> None:
    lines = [
        record("S", 1, NOON_S, fields(start=NOON_S)),
        record("C", 1, NOON_S + 100),
        record("R", 1, NOON_S + 101, fields(start=NOON_S, end=NOON_S + 101)),
        record("T", 1, NOON_S + 500),
        record("E", 1, NOON_S + 530, fields(start=NOON_S + 500, end=NOON_S + 530)),
    ]
    job = only(tmp_path, *lines)
    assert (job.run_s, job.requeues, job.last_start_s) == (130, 0, NOON_S + 500)


def test_a_checkpoint_that_is_not_restarted_from_is_no_work(tmp_path: Path) -> None:
    lines = [
        record("S", 1, NOON_S, fields(start=NOON_S)),
        record("C", 1, NOON_S + 100),
        record("S", 1, NOON_S + 500, fields(start=NOON_S + 500)),
        record("E", 1, NOON_S + 530, fields(start=NOON_S + 500, end=NOON_S + 530)),
    ]
    assert only(tmp_path, *lines).run_s == 30


def test_work_saved_for_a_restart_is_lost_where_the_job_then_begins_anew(tmp_path: Path) -> None:
    lines = [
        record("S", 1, NOON_S, fields(start=NOON_S)),
        record("C", 1, NOON_S + 100),
        record("T", 1, NOON_S + 500),
        record("R", 1, NOON_S + 510, fields(start=NOON_S + 500, end=NOON_S + 510)),
        record("S", 1, NOON_S + 600, fields(start=NOON_S + 600)),
        record("E", 1, NOON_S + 630, fields(start=NOON_S + 600, end=NOON_S + 630)),
    ]
    assert only(tmp_path, *lines).run_s == 30


SPRING, AUTUMN = (1, 2), (2, 1)
"""Hours before UTC, before and after the change of clocks."""


@pytest.mark.parametrize(("before_h", "after_h"), [SPRING, AUTUMN])
@pytest.mark.parametrize("change_s", [300, 900, 1500, 2100])
@pytest.mark.parametrize("others", [False, True])
def test_a_suspension_is_as_long_as_it_was_where_the_clocks_are_changed(
    tmp_path: Path, before_h: int, after_h: int, change_s: int, others: bool
) -> None:
    """Started at 0, suspended from 600 to 1800, ended at 2400; other jobs' records, with their times, before and after
    the change or none."""

    def at(kind: str, job: int, after_s: int, text: str = "") -> tuple[int, str]:
        return after_s, record(kind, job, NOON_S + after_s, text, zone_h=before_h if after_s < change_s else after_h)

    lines = [
        at("S", 1, 0, fields(start=NOON_S)),
        at("z", 1, 600),
        at("r", 1, 1800),
        at("E", 1, 2400, fields(start=NOON_S, end=NOON_S + 2400)),
    ]
    if others:
        lines += [at("Q", 2, after_s, fields(created=NOON_S + after_s)) for after_s in (change_s - 60, change_s + 60)]
    job = only(tmp_path, *(line for _, line in sorted(lines)))
    assert (job.run_s, job.suspended_s) == (1200, 1200)


@pytest.mark.parametrize(("before_h", "after_h"), [SPRING, AUTUMN])
def test_what_a_checkpoint_saved_is_as_much_where_the_clocks_are_changed(
    tmp_path: Path, before_h: int, after_h: int
) -> None:
    lines = [
        record("S", 1, NOON_S, fields(start=NOON_S), zone_h=before_h),
        record("C", 1, NOON_S + 1200, zone_h=after_h),
        record("T", 1, NOON_S + 1500, zone_h=after_h),
        record("E", 1, NOON_S + 1600, fields(start=NOON_S + 1500, end=NOON_S + 1600), zone_h=after_h),
    ]
    assert only(tmp_path, *lines).run_s == 1300


def test_a_job_suspended_to_its_end_stops_there(tmp_path: Path) -> None:
    queued, start, end = ended(1, NOON_S, NOON_S + 60)
    assert only(tmp_path, queued, start, record("z", 1, NOON_S + 20), end).run_s == 20


@pytest.mark.parametrize("zone_h", [-12, -5, 0, 5.5, 14])
def test_the_servers_time_zone_does_not_matter(tmp_path: Path, zone_h: float) -> None:
    assert only(tmp_path, *ended(1, NOON_S, NOON_S + 60, zone_h=zone_h)).run_s == 60


def test_a_job_over_midnight_is_put_together_from_both_files(tmp_path: Path) -> None:
    lines = ended(1, NOON_S, NOON_S + 86_400)
    write_log(tmp_path / "20251231", *lines[:2])
    write_log(tmp_path / "20260101", lines[2])
    (job,) = read_log([tmp_path]).jobs
    assert (job.run_s, job.requeues) == (86_400, 0)
