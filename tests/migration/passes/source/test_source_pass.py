"""A source's pass against targets in memory, step by step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migration.passes.early_pass import SOURCE, call_file
from migration.passes.source.source_pass import BusyError, _state, forget, pass_lock, plan
from migration.schedulers.scheduler_interface import LocalJob, SchedulerSilent, SubmitRefused
from migration.spool.queue_file import Queue
from policy.migration.job_record_and_copy_updates import amend
from tests.migration.passes.simulated_centre import USER, Centre


def test_a_request_goes_to_the_first_cluster_that_has_room_and_comes_back_with_its_exit_status(centre: Centre) -> None:
    centre.targets["b"].cores = 2
    ticket = centre.submit()
    centre.run_pass()
    record = centre.record()
    assert (record.state, record.dst, record.ticket, record.user) == ("Waiting", "c", ticket, USER)
    assert record.datakey == "key"
    assert record.dstdir == "/landing/home/u/d"
    c = centre.targets["c"]
    for event in ("upload", "submit"):
        c.advance("a.1", event)
    c.advance("a.1", "ended", exit="3", then="End")
    centre.run_pass()
    assert centre.record().state == "Downloading"
    c.advance("a.1", "downloaded")
    centre.run_pass()
    queue, record = centre.where()["a.1"]
    assert (queue, record.state, record.exit) == (Queue.DONE, "End", "3")


def test_it_runs_in_place_where_this_cluster_can_and_nothing_is_asked(centre: Centre) -> None:
    centre.queue.free_cores = 4
    centre.submit()
    centre.run_pass()
    record = centre.record()
    assert (record.state, record.dst, record.localid, record.dstdir) == ("Submitted", "a", "1.s", "/home/u/d")
    assert centre.calls == []
    centre.queue.start("1.s")
    centre.run_pass()
    assert centre.record().ran == 1
    centre.queue.end("1.s")
    centre.run_pass()
    assert centre.record().state == "Submitted"
    centre.clock.now += 301
    centre.run_pass()
    assert (centre.record().state, centre.record().exit) == ("End", "0")


@pytest.mark.parametrize("shows_ended", [False, True])
def test_a_job_in_place_that_is_deleted_before_it_runs_is_aborted(centre: Centre, shows_ended: bool) -> None:
    centre.queue.free_cores = 4
    centre.queue.shows_ended = shows_ended
    centre.submit()
    centre.run_pass()
    centre.queue.delete("1.s", USER)
    for wait_s in (60, 300):
        centre.clock.now += wait_s
        centre.run_pass()
    record = centre.record()
    assert (record.state, record.exit, record.ran) == ("Aborted", "", 0)
    assert record.reason == "the local job 1.s was deleted before it ran"


def test_a_submission_without_an_answer_keeps_no_idle_cores_from_others(tmp_path: Path) -> None:
    centre = Centre(tmp_path, fallback_s=10**9)
    centre.cut, centre.queue.free_cores = {"b", "c"}, 8
    submit = centre.queue.submit

    def hang(job: LocalJob) -> str:
        if job.name == "mg_a.1_1":
            raise SchedulerSilent("qsub: killed after 30 s")
        return submit(job)

    centre.queue.submit = hang  # type: ignore[method-assign]
    for gid in ("a.1", "a.2"):
        centre.submit(cores=8)
        centre.run_pass()
        assert centre.record(gid).state == "Submitted"
    assert (centre.record("a.1").tries, centre.record("a.1").localid) == (2, "")
    assert centre.record("a.1").reason == "a: tried again: qsub: killed after 30 s"
    assert (centre.record("a.2").tries, centre.record("a.2").localid) == (0, "1.s")
    centre.queue.submit = submit  # type: ignore[method-assign]
    centre.run_pass()
    record = centre.record("a.1")
    assert (record.localid, record.tries, record.reason) == ("2.s", 0, "")


def test_a_request_that_fits_nowhere_says_what_each_cluster_lacks(centre: Centre) -> None:
    centre.submit(cores=20)
    centre.run_pass()
    assert centre.record().reason == (
        "a: short by 20 cores (0 of 20); b: short by 12 cores (8 of 20); c: short by 12 cores (8 of 20)"
    )


def test_bounds_of_a_pass_and_of_jobs_on_their_way(tmp_path: Path) -> None:
    centre = Centre(tmp_path, max_per_pass=3, max_in_flight_per_target=2)
    for _ in range(6):
        centre.submit(cores=1)
    centre.run_pass()
    assert sorted(len(one.records) for one in centre.targets.values()) == [1, 2]
    centre.run_pass()
    assert [len(one.records) for one in centre.targets.values()] == [2, 2]
    centre.run_pass()
    assert [len(one.records) for one in centre.targets.values()] == [2, 2]


def test_a_pass_calls_for_an_early_one_while_a_batch_waits_for_a_target_that_is_busy_for_now(centre: Centre) -> None:
    called, b = call_file(centre.home, SOURCE), centre.targets["b"]
    centre.submit(cores=1, want="b")
    centre.run_pass()
    assert not called.exists(), "nothing waits"
    b.busy = True
    centre.submit(cores=1, want="b")
    for wait_s, is_called in ((0, True), (59, True), (1, False)):
        centre.clock.now += wait_s
        centre.run_pass()
        assert centre.record("a.2").reason == "b: just filled"
        assert called.exists() == is_called, "for a minute after the last hand-over"
    b.busy = False
    centre.run_pass()
    assert centre.record("a.2").state == "Waiting"
    assert not called.exists()


def test_a_job_may_wait_for_those_on_their_way_a_moment_and_for_cores_until_the_minute_is_over(tmp_path: Path) -> None:
    centre = Centre(tmp_path, max_in_flight_per_target=2)
    called = call_file(centre.home, SOURCE)
    # One pass for each: submissions of the same moment come in any order.
    for cores in (4, 8):
        centre.submit(cores, want="b")
        centre.run_pass()
    assert centre.record("a.2").reason == "b: short by 4 cores (4 of 8)"
    assert not called.exists()
    for _ in range(2):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    assert centre.record("a.4").reason == "b: 2 jobs are on their way there already"
    assert called.exists()


def test_jobs_that_rest_at_a_target_take_places_of_their_user_alone(tmp_path: Path) -> None:
    centre = Centre(tmp_path, max_in_flight_per_target=4)
    b = centre.targets["b"]
    for number in range(1, 4):
        centre.submit(cores=1, want="b")
        centre.run_pass()
        b.advance(f"a.{number}", "upload")
        b.records[f"a.{number}"] = amend(b.records[f"a.{number}"], tries=1)
    centre.submit(cores=1, want="b")
    centre.run_pass()
    assert centre.record("a.4").reason == f"b: 3 jobs of {USER} are on their way there already"
    assert _state(centre.source(), centre.clock()).in_flight == {}


def test_a_job_whose_upload_came_to_no_end_goes_behind_those_that_wait(centre: Centre) -> None:
    centre.submit(want="b")
    centre.run_pass()
    b = centre.targets["b"]
    b.advance("a.1", "upload")
    b.records["a.1"] = amend(b.records["a.1"], tries=9)
    centre.clock.now += 60
    centre.submit(cores=8, want="b")
    centre.run_pass()
    assert centre.record("a.2").state == "Requested", "half of b is promised to the first one"
    b.advance("a.1", "given-back", reason="not uploaded within 14400 s", last="b")
    centre.clock.now += 60
    centre.run_pass()
    assert (centre.record("a.1").state, centre.record("a.2").state) == ("Requested", "Waiting")


def test_a_silent_cluster_is_asked_in_every_tenth_pass(centre: Centre) -> None:
    centre.cut = {"b", "c"}
    centre.submit()
    for _ in range(20):
        centre.run_pass()
    assert centre.calls.count(("b", "avail")) == 3 + 2


def test_nothing_is_asked_of_the_others_without_requests(centre: Centre) -> None:
    centre.run_pass()
    assert centre.calls == []


def test_a_lost_targets_job_is_taken_back_on_an_administrators_word(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    centre.targets["b"].advance("a.1", "upload")
    centre.run_pass()
    centre.cut.add("b")
    centre.run_pass()
    assert centre.record().state == "Uploading"
    forget(centre.source(), "a.1")
    centre.run_pass()
    assert (centre.record().dst, centre.record().attempt) == ("c", 2)
    with pytest.raises(ValueError, match=r"a\.9: is not at another cluster"):
        forget(centre.source(), "a.9")


def test_plan_changes_nothing(centre: Centre) -> None:
    centre.cut = {"b", "c"}
    centre.submit()
    centre.run_pass()
    centre.cut.clear()
    before = centre.where()
    assert plan(centre.source()).placed == {"a.1": "b"}
    assert centre.where() == before
    assert centre.targets["b"].records == {}


def test_a_second_pass_ends_at_the_lock(tmp_path: Path) -> None:
    with pass_lock(tmp_path), pytest.raises(BusyError), pass_lock(tmp_path):
        pass


@pytest.mark.parametrize("free_cores", [0, 8])
def test_a_user_at_a_limit_of_the_local_queue_is_tried_once_a_pass(tmp_path: Path, free_cores: int) -> None:
    centre = Centre(tmp_path, fallback_s=0)
    centre.queue.free_cores = free_cores
    tried: list[str] = []

    def refuse(job: LocalJob) -> str:
        tried.append(job.name)
        raise SubmitRefused("would exceed queue generic's per-user limit", lasting=False)

    centre.queue.submit = refuse  # type: ignore[method-assign]
    for _ in range(30):
        centre.submit(cores=1, want="local")
    for passes in (1, 2):
        centre.run_pass()
        assert len(tried) == passes
    assert {one.state for _, one in centre.where().values()} == {"Requested"}


def test_old_final_records_are_dropped(centre: Centre) -> None:
    centre.submit(cores=20)
    centre.run_pass()
    centre.stop("a.1")
    centre.run_pass()
    assert centre.record().state == "Stopped"
    centre.clock.now += 91 * 86_400
    centre.run_pass()
    assert centre.where() == {}


def test_with_all_targets_down_this_cluster_runs_its_jobs_as_ever(centre: Centre) -> None:
    centre.cut = {"b", "c"}
    centre.queue.free_cores = 4
    centre.submit()
    centre.run_pass()
    centre.submit(cores=20)
    centre.run_pass()
    assert (centre.record("a.1").state, centre.record("a.1").dst) == ("Submitted", "a")
    assert "b: unreachable" in centre.record("a.2").reason
    centre.stop("a.2")
    centre.run_pass()
    assert centre.record("a.2").state == "Stopped"


def test_a_silent_scheduler_concludes_nothing(centre: Centre) -> None:
    centre.queue.free_cores = 4
    centre.submit()
    centre.run_pass()
    centre.queue.silent = True
    centre.clock.now += 1000
    centre.run_pass()
    assert centre.record().state == "Submitted"


def test_the_oldest_ended_jobs_of_a_user_give_way_and_no_unfinished_one(tmp_path: Path) -> None:
    centre = Centre(tmp_path, max_ended_per_user=3, fallback_s=0)
    centre.cut = {"b", "c"}
    for _ in range(6):
        centre.submit()
    centre.run_pass()
    for number in range(1, 6):
        centre.stop(f"a.{number}")
        centre.clock.now += 1
        centre.run_pass()
    left = centre.where()
    assert {gid for gid, (queue, _) in left.items() if queue is Queue.DONE} == {"a.3", "a.4", "a.5"}
    assert left["a.6"][1].state == "Requested"


def pause(centre: Centre, *clusters: str) -> None:
    centre.file = replace(centre.file, here=replace(centre.file.here, pause_sending_to=clusters))


def test_while_sending_is_paused_requests_stay_and_jobs_that_are_away_come_back(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    pause(centre, "any")
    centre.submit()
    centre.run_pass()
    paused = "sending there is paused (pause_sending_to)"
    assert centre.record("a.2").reason == f"a: short by 4 cores (0 of 4); b: {paused}; c: {paused}"
    b = centre.targets["b"]
    for event in ("upload", "submit"):
        b.advance("a.1", event)
    b.advance("a.1", "ended", exit="0", then="End")
    b.advance("a.1", "downloaded")
    centre.run_pass()
    assert (centre.record("a.1").state, centre.record("a.2").state) == ("End", "Requested")
    pause(centre, "b")
    centre.run_pass()
    assert centre.record("a.2").dst == "c"


def test_a_pause_aborts_no_request_that_only_its_own_cluster_refuses(centre: Centre) -> None:
    centre.queue.free_cores = 8
    pause(centre, "any")

    def refuse(job: LocalJob) -> str:
        raise SubmitRefused("walltime", lasting=True)

    centre.queue.submit = refuse  # type: ignore[method-assign]
    centre.submit()
    centre.run_pass()
    assert (centre.record().state, centre.record().avoid) == ("Requested", ("a",))
    pause(centre)
    centre.run_pass()
    assert centre.record().dst == "b"
