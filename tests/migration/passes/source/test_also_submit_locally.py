"""Requests that are also submitted to this cluster: one of the two runs, and the other is taken back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migration.schedulers.scheduler_interface import HELD, QUEUED, JobState
from migration.spool.queue_file import Queue
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.passes.simulated_centre import GOOD, LOST, USER, Centre


def test_an_old_request_is_also_local_and_runs_in_one_place(tmp_path: Path) -> None:
    centre = Centre(tmp_path, fallback_s=0)
    centre.cut = {"b", "c"}
    centre.submit()
    centre.run_pass()
    assert centre.record().fallback == "1.s"
    assert centre.record().state == "Requested"
    centre.cut.clear()
    centre.run_pass()
    assert (centre.record().dst, centre.queue.jobs["1.s"].state) == ("b", HELD)
    for event in ("upload", "submit"):
        centre.targets["b"].advance("a.1", event, localid="7.b")
    centre.run_pass()
    assert centre.record().fallback == ""
    assert centre.queue.alive("a.1") == 0


def test_a_local_job_that_starts_first_takes_the_request(tmp_path: Path) -> None:
    centre = Centre(tmp_path, fallback_s=0)
    centre.cut = {"b", "c"}
    centre.submit()
    centre.run_pass()
    centre.queue.start("1.s")
    centre.cut.clear()
    centre.run_pass()
    record = centre.record()
    assert (record.state, record.dst, record.localid, record.fallback) == ("Submitted", "a", "1.s", "")
    assert centre.targets["b"].records == {}


@pytest.mark.parametrize("shows_ended", [False, True])
def test_a_local_job_that_is_deleted_before_it_runs_leaves_the_request(tmp_path: Path, shows_ended: bool) -> None:
    centre = Centre(tmp_path, fallback_s=0)
    centre.cut = {"b", "c"}
    centre.queue.shows_ended = shows_ended
    centre.submit()
    centre.run_pass()
    centre.queue.delete("1.s", USER)
    centre.run_pass()
    assert (centre.record().state, centre.record().fallback, centre.record().ran) == ("Requested", "2.s", 0)


def test_a_local_job_that_has_run_between_two_passes_takes_the_request(tmp_path: Path) -> None:
    centre = Centre(tmp_path, fallback_s=0)
    centre.cut = {"b", "c"}
    centre.queue.shows_ended = True
    centre.submit()
    centre.run_pass()
    centre.queue.start("1.s")
    centre.queue.end("1.s")
    for wait_s in (60, 300):
        centre.clock.now += wait_s
        centre.run_pass()
    assert (centre.record().state, centre.record().exit, centre.runs("a.1")) == ("End", "0", 1)


def test_the_local_job_is_released_where_the_target_says_no(tmp_path: Path) -> None:
    centre = Centre(tmp_path, fallback_s=0)
    centre.cut = {"b", "c"}
    centre.submit()
    centre.run_pass()
    centre.cut.clear()
    for target in centre.targets.values():
        target.busy = True
    centre.run_pass()
    assert centre.queue.jobs["1.s"].state == QUEUED


def test_the_local_job_stays_held_while_the_hand_over_is_unconfirmed(tmp_path: Path) -> None:
    centre = Centre(tmp_path, fallback_s=0)
    centre.cut = {"b", "c"}
    centre.submit()
    centre.run_pass()
    centre.cut.clear()
    centre.network = [GOOD, LOST]
    centre.run_pass()
    centre.cut = {"b", "c"}
    centre.run_pass()
    assert (centre.record().state, centre.queue.jobs["1.s"].state) == ("Offered", HELD)
    centre.cut = {"c"}
    centre.targets["b"].busy = True
    centre.run_pass()
    assert (centre.record().state, centre.queue.jobs["1.s"].state) == ("Requested", QUEUED)


def test_an_ended_job_whose_local_job_is_not_deleted_yet_never_gives_way(tmp_path: Path) -> None:
    centre = Centre(tmp_path, max_ended_per_user=1)
    centre.clock.now += 200 * 86_400
    now = int(centre.clock.now)
    centre.queue.jobs["7.s"], centre.queue.names["7.s"] = JobState(QUEUED), "mg_a.1_0"
    with centre.source().spool.change() as change:
        base = Record(gid="a.1", src="a", user=USER, state="Stopped", fallback="7.s", since=now - 100 * 86_400)
        change.put_all(Queue.DONE, [base, replace(base, gid="a.2", fallback="", since=now)])
    centre.queue.silent = True
    centre.run_pass()
    assert sorted(centre.where()) == ["a.1", "a.2"]
    centre.queue.silent = False
    centre.run_pass()
    assert sorted(centre.where()) == ["a.2"]
    assert centre.queue.jobs["7.s"].state == "ended"
