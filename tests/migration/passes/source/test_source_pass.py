"""A source's pass against targets in memory, step by step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.passes.source.source_pass import BusyError, forget, pass_lock, plan
from migration.protocol.messages import Failed, Reply, States, Taken
from migration.schedulers.scheduler_interface import HELD, QUEUED, JobState, LocalJob, SubmitRefused
from migration.spool.drop_box import drop
from migration.spool.queue_file import Queue
from migration.target_job.bounded_time_for_hung_disks import HungError
from policy.migration.available_to_other_clusters import Answer
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.passes.simulated_centre import DELAYED, GOOD, LOST, UNANSWERED, USER, Centre, Folders


@pytest.fixture
def centre(tmp_path: Path) -> Centre:
    return Centre(tmp_path)


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


def test_a_request_that_fits_nowhere_says_what_each_cluster_lacks(centre: Centre) -> None:
    centre.submit(cores=20)
    centre.run_pass()
    assert centre.record().reason == (
        "a: short by 20 cores (0 of 20); b: short by 12 cores (8 of 20); c: short by 12 cores (8 of 20)"
    )


def test_an_offer_without_an_answer_is_made_to_nobody_else_until_it_is_settled(centre: Centre) -> None:
    centre.network = [GOOD, LOST]
    centre.submit()
    centre.run_pass()
    assert (centre.record().state, centre.record().dst) == ("Offered", "b")
    centre.cut.add("b")
    centre.run_pass()
    assert centre.record().state == "Offered"
    assert "hand-over to b unconfirmed" in centre.record().reason
    assert centre.targets["c"].records == {}
    centre.cut.clear()
    centre.run_pass()
    assert (centre.record().state, centre.record().dst, centre.record().attempt) == ("Waiting", "c", 2)
    assert centre.targets["b"].withdrawn == {"a.1": 1}


def test_an_offer_that_was_accepted_unheard_is_found_out(centre: Centre) -> None:
    centre.network = [GOOD, UNANSWERED]
    centre.submit()
    centre.run_pass()
    assert centre.record().state == "Offered"
    centre.run_pass()
    assert (centre.record().state, centre.record().dst, centre.record().attempt) == ("Waiting", "b", 1)


def test_an_offer_that_arrives_after_it_was_withdrawn_is_refused(centre: Centre) -> None:
    centre.network = [GOOD, DELAYED]
    centre.submit()
    centre.run_pass()
    centre.run_pass()
    assert centre.record().dst == "c"
    centre.deliver_late()
    assert centre.targets["b"].records == {}


def test_a_busy_target_is_followed_by_the_next(centre: Centre) -> None:
    centre.targets["b"].busy = True
    centre.submit()
    centre.run_pass()
    assert (centre.record().dst, centre.record().attempt) == ("c", 1)


def test_a_request_that_every_cluster_refuses_for_good_is_aborted_with_each_answer(centre: Centre) -> None:
    for target in centre.targets.values():
        target.refuses = True
    centre.submit(want="b")
    centre.run_pass()
    assert (centre.record().state, centre.record().reason) == ("Aborted", "b: no account")
    centre.submit()
    centre.run_pass()
    assert centre.record("a.2").state == "Requested"
    assert centre.record("a.2").avoid == ("b", "c")


def test_a_job_that_comes_back_is_offered_elsewhere_first(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    assert centre.record().dst == "b"
    centre.targets["b"].advance("a.1", "given-back", reason="waited too long")
    centre.run_pass()
    assert (centre.record().dst, centre.record().attempt, centre.record().last) == ("c", 2, "b")


def test_no_space_leaves_the_cluster_out_for_this_user_for_an_hour(centre: Centre) -> None:
    centre.submit(want="b")
    centre.run_pass()
    centre.targets["b"].advance("a.1", "upload")
    centre.targets["b"].advance("a.1", "given-back", reason="no space: 3 GiB of 4")
    centre.run_pass()
    assert (centre.record().state, centre.record().reason) == ("Requested", "b: has no space for this user")
    centre.clock.now += 3601
    centre.run_pass()
    assert (centre.record().state, centre.record().attempt) == ("Waiting", 2)


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


def test_a_silent_cluster_is_asked_in_every_tenth_pass(centre: Centre) -> None:
    centre.cut = {"b", "c"}
    centre.submit()
    for _ in range(20):
        centre.run_pass()
    assert centre.calls.count(("b", "avail")) == 3 + 2


def test_nothing_is_asked_of_the_others_without_requests(centre: Centre) -> None:
    centre.run_pass()
    assert centre.calls == []


@pytest.mark.parametrize("discard", ["0", "1"])
def test_a_stop_is_repeated_until_the_target_has_answered(centre: Centre, discard: str) -> None:
    centre.submit()
    centre.run_pass()
    for event in ("upload", "submit"):
        centre.targets["b"].advance("a.1", event)
    centre.stop("a.1", discard)
    centre.cut.add("b")
    centre.run_pass()
    assert "stop requested, b unreachable" in centre.record().reason
    centre.cut.clear()
    centre.run_pass()
    centre.targets["b"].advance("a.1", "downloaded-stopped")
    centre.run_pass()
    assert centre.record().state == "Stopped"
    assert centre.calls.count(("b", "stop")) == 1


def test_requests_and_jobs_in_place_are_stopped(centre: Centre) -> None:
    centre.submit(cores=20)
    centre.queue.free_cores = 4
    centre.submit()
    centre.run_pass()
    for gid in ("a.1", "a.2"):
        centre.stop(gid)
    centre.run_pass()
    centre.run_pass()
    assert [centre.record(gid).state for gid in ("a.1", "a.2")] == ["Stopped", "Stopped"]
    assert centre.queue.alive("a.2") == 0


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


def test_a_batch_is_taken_whole_or_not_at_all(centre: Centre) -> None:
    good: dict[str, Any] = {"do": "submit", "dir": "/home/u/d", "prog": "p", "cores": 1, "walltime": 60}
    ticket = drop(centre.home / "incoming", [good, {**good, "walltime": 0}])
    centre.run_pass()
    assert list(centre.where()) == ["a.1"]
    queue, record = centre.where()["a.1"]
    assert (queue, record.state, record.ticket) == (Queue.DONE, "Aborted", ticket)
    assert "line 2: walltime: missing" in record.reason


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"dir": "/etc"}, "must be below one of /home"),
        ({"dir": "/home/../etc"}, "without . or .. parts"),
        ({"state": "End"}, "state: is not for the user to choose"),
        ({"user": "root"}, "user: is not for the user to choose"),
        ({"want": "z"}, "target 'z'"),
        ({"cores": 0}, "cores 0"),
        ({"env": ("1=2",)}, "must be NAME=VALUE"),
        ({"shared": ("/etc/shadow",)}, "shared file '/etc/shadow'"),
        ({"args": (50_000 * "x",)}, "bytes: at most 49,152 are allowed"),
    ],
)
def test_a_submission_is_checked_again_by_the_service(centre: Centre, fields: dict[str, Any], problem: str) -> None:
    centre.submit(**fields)
    centre.run_pass()
    assert centre.record().state == "Aborted"
    assert problem in centre.record().reason


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


def test_an_aborted_job_that_is_resumed_at_its_target_is_followed_again(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    b = centre.targets["b"]
    for event in ("upload", "failed", "gave-up"):
        b.advance("a.1", event)
    centre.run_pass()
    assert centre.where()["a.1"][0] is Queue.DONE
    b.advance("a.1", "resume", then="End")
    for _ in range(10):
        centre.run_pass()
    assert centre.record().state == "Downloading"
    b.advance("a.1", "downloaded")
    centre.run_pass()
    assert (centre.record().state, centre.where()["a.1"][0]) == ("End", Queue.DONE)


def test_a_job_that_was_resumed_and_is_over_since_is_noted_as_it_ended(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    b = centre.targets["b"]
    for event in ("upload", "failed", "gave-up"):
        b.advance("a.1", event)
    centre.run_pass()
    b.advance("a.1", "resume", then="End")
    b.advance("a.1", "downloaded", exit="0")
    for _ in range(10):
        centre.run_pass()
    assert (centre.record().state, centre.record().exit, centre.where()["a.1"][0]) == ("End", "0", Queue.DONE)


def test_a_user_has_so_many_requests_and_is_told_why_no_more_are_taken(tmp_path: Path) -> None:
    centre = Centre(tmp_path, max_requests_per_user=2)
    centre.submit(cores=20)
    centre.run_pass()
    for _ in range(3):
        drop(tmp_path / "incoming", [{"do": "submit", "dir": "/home/u/d", "prog": "p", "walltime": 60}] * 2)
    centre.run_pass()
    centre.submit(cores=20)
    centre.run_pass()
    requests = [record for queue, record in centre.where().values() if queue is Queue.REQUEST]
    refused = [record for queue, record in centre.where().values() if queue is Queue.DONE]
    assert len(requests) == 2
    assert [one.state for one in refused] == ["Aborted"] * 3
    assert f"jobs of {USER} that are not over: 1, and 2 more are asked for: at most 2 are allowed" in refused[0].reason


def test_refused_submissions_are_kept_up_to_a_bound(centre: Centre, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("migration.passes.source.take_in_submissions_and_stops._MOST_REFUSALS", 2)
    for number in range(5):
        centre.submit(cores=0, dir=f"/home/u/{number}")
        centre.run_pass()
    assert sorted(centre.where()) == ["a.4", "a.5"]


def test_a_user_in_a_refused_group_is_told_so(centre: Centre, monkeypatch: pytest.MonkeyPatch) -> None:
    centre.file = replace(centre.file, here=replace(centre.file.here, refused_groups=("adm",)))
    monkeypatch.setattr("os.getgrouplist", lambda name, gid: [4])
    centre.submit()
    centre.run_pass()
    assert centre.record().state == "Aborted"
    assert f"user {USER!r} is in group adm: no job runs as its members" in centre.record().reason


def test_a_hung_home_ends_no_job_and_refuses_no_request(centre: Centre, monkeypatch: pytest.MonkeyPatch) -> None:
    centre.queue.free_cores = 4
    centre.submit()
    centre.run_pass()
    centre.queue.start("1.s")
    centre.run_pass()
    centre.queue.end("1.s")
    centre.submit(want="local")

    def hang(*_: object) -> None:
        raise HungError("/home/u/d: no answer")

    for name in ("read_exit", "prepare"):
        monkeypatch.setattr(Folders, name, hang)
    for _ in range(3):
        centre.clock.now += 301
        centre.run_pass()
    assert centre.record().state == "Submitted"
    assert (centre.record("a.2").state, centre.record("a.2").avoid) == ("Requested", ())
    assert "no answer" in centre.record("a.2").reason


def test_one_unreadable_record_hides_no_other_and_is_noted(centre: Centre) -> None:
    for _ in range(2):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    for gid in ("a.1", "a.2"):
        centre.targets["b"].advance(gid, "upload")

    def garble(reply: Reply) -> Reply:
        if not isinstance(reply, States):
            return reply
        return replace(
            reply, records=tuple(replace(one, avoid=("../c",) * (one.gid == "a.1")) for one in reply.records)
        )

    centre.garble = garble
    centre.run_pass()
    assert (centre.record("a.1").state, centre.record("a.2").state) == ("Waiting", "Uploading")
    assert "what b says about this job cannot be read: record a.1: avoid" in centre.record("a.1").reason
    assert centre.calls.count(("b", "query")) == 1


def test_a_cluster_that_fails_to_answer_one_question_is_not_silent(centre: Centre) -> None:
    for number in range(2):
        centre.submit(cores=1, want="bc"[number])
    centre.run_pass()
    centre.garble = lambda reply: Failed("its scheduler is silent") if isinstance(reply, Answer) else reply
    for gid in ("a.1", "a.2"):
        centre.stop(gid)
    centre.submit(cores=1)
    for _ in range(4):
        centre.run_pass()
    assert (centre.record("a.1").state, centre.record("a.2").state) == ("Stopped", "Stopped")
    assert centre.record("a.3").reason.endswith(
        "b: cannot say what is free: its scheduler is silent; c: cannot say what is free: its scheduler is silent"
    )
    notes = centre.source().notes.of("b")
    assert (notes.failures, notes.text) == (0, "its scheduler is silent")
    centre.garble = None
    centre.run_pass()
    assert centre.record("a.3").dst == "b"


def test_a_job_whose_offers_fail_keeps_a_few_others_from_a_cluster_at_most(centre: Centre) -> None:
    centre.targets["b"].cores = 100
    centre.garble = lambda reply: Failed("no room for a key") if isinstance(reply, Taken) else reply
    for _ in range(6):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    assert centre.calls.count(("b", "accept")) == 3
    assert sorted(one.state for _, one in centre.where().values()) == ["Offered"] * 3 + ["Requested"] * 3
    centre.garble = None
    centre.run_pass()
    assert {one.state for _, one in centre.where().values()} == {"Waiting"}


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


def test_a_cluster_that_answers_about_one_job_at_a_time_is_asked_so_often_and_later_about_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("migration.passes.source.copy_states_from_targets.MOST_GIDS", 5)
    monkeypatch.setattr("migration.passes.source.copy_states_from_targets._MOST_QUESTIONS", 5)
    centre = Centre(tmp_path, max_per_pass=100, max_in_flight_per_target=100)
    centre.targets["b"].cores = 100
    for _ in range(12):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    for number in range(1, 13):
        centre.targets["b"].advance(f"a.{number}", "upload")
    centre.garble = lambda reply: replace(reply, records=reply.records[:1]) if isinstance(reply, States) else reply
    centre.run_pass()
    assert centre.calls.count(("b", "query")) == 5
    centre.run_pass()
    centre.run_pass()
    assert {one.state for _, one in centre.where().values()} == {"Uploading"}


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
