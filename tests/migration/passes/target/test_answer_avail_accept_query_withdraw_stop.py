"""What a target answers: acceptance once and repeatably, and nothing about another cluster's jobs."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.passes.target import accept_or_refuse_offer as accepting
from migration.passes.target.accept_or_refuse_offer import accept
from migration.passes.target.answer_avail_accept_query_withdraw_stop import serve
from migration.programs.run_external_program_with_limits import Finished
from migration.protocol.message_lines_and_fields import to_line_bytes
from migration.protocol.questions import About, Hand, Query
from migration.protocol.replies import Busy, Failed, Refused, Reply, State, States, Taken, Unknown
from migration.schedulers.scheduler_interface import Verdict
from migration.spool.queue_file import Queue
from policy.migration.available_to_other_clusters import Answer
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.target_job.fake_target import FakeTarget

OFFER = Record(
    gid="a.1", user="guest", src="a", dst="b", dir="/home/guest/j", prog="run", cores=4, walltime=60,
    state="Offered", since=1, created=1, fallback="3", ticket="t", stop="",
)  # fmt: skip


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTarget:
    monkeypatch.setattr(accepting, "_make_key", lambda site, record: f"ssh-ed25519 {record.gid}")
    return FakeTarget(tmp_path)


def send(target: FakeTarget, verb: str, data: dict[str, Any] | None = None, cluster: str = "a") -> Reply:
    return serve(target.site, cluster, verb, b"" if data is None else to_line_bytes(data))


def hand(target: FakeTarget, **fields: Any) -> Reply:
    return send(target, "accept", Hand(replace(OFFER, **fields)).to_data(target.now_s))


def test_a_job_is_taken_once_and_the_answer_to_a_repeated_offer_is_the_same(target: FakeTarget) -> None:
    first = hand(target)
    assert isinstance(first, Taken)
    record = first.record
    assert (record.state, record.account, record.rev) == ("Waiting", "guest", 2)
    assert record.dstdir == "/land/guest/a/home/guest/j"
    assert (record.fallback, record.ticket, record.datakey) == ("", "", first.datakey)
    target.scheduler.cores = 0
    again = hand(target)
    assert isinstance(again, Taken)
    assert again.record == record
    assert len(target.site.spool.read(Queue.RECEIVED)) == 1


def test_two_sources_do_not_get_the_same_cores(target: FakeTarget) -> None:
    assert isinstance(hand(target, cores=5), Taken)
    busy = hand(target, gid="a.2", cores=4)
    assert isinstance(busy, Busy)
    assert busy.text == "short by 1 cores (3 of 4)"
    assert isinstance(busy.answer, Answer)
    assert busy.answer.in_flight == 5


def test_cores_of_a_submitted_job_count_until_it_had_time_to_start(target: FakeTarget) -> None:
    target.put(state="Submitted", localid="7", cores=3)
    avail = send(target, "avail")
    assert isinstance(avail, Answer)
    assert avail.avail == 5
    target.now_s += 60
    avail = send(target, "avail")
    assert isinstance(avail, Answer)
    assert avail.avail == 8


def test_the_schedulers_own_test_decides_where_it_has_one(target: FakeTarget) -> None:
    target.scheduler.verdict = Verdict(now=False, text="would start in 900 s")
    assert hand(target) == Busy("would start in 900 s", None)
    target.scheduler.silent = True
    assert isinstance(hand(target), Failed)
    assert target.site.spool.read(Queue.RECEIVED) == []


def test_an_unfinished_job_with_the_same_folder_makes_this_one_stand_beside(target: FakeTarget) -> None:
    hand(target, cores=1)
    second = hand(target, gid="a.2", cores=1)
    assert isinstance(second, Taken)
    assert second.record.dstdir == "/land/guest/a/home/guest/j.a.2"


def end(target: FakeTarget, gid: str, state: str, **fields: Any) -> None:
    """A job that is over, and of which files are kept here."""
    target.put(gid=gid, state=state, **fields)
    target.site.spool.job_folder(gid).mkdir(parents=True)
    with target.site.spool.change() as change:
        record = change.find(gid)
        assert record is not None
        change.move(Queue.RECEIVED, Queue.DONE, record[1])


def folder_of(target: FakeTarget, **fields: Any) -> str:
    taken = hand(target, cores=1, **fields)
    assert isinstance(taken, Taken)
    return taken.record.dstdir.replace("/land/guest/a/home/guest/", "")


@pytest.mark.parametrize("state", ["End", "Aborted", "Stopped"])
def test_a_job_finds_no_files_of_an_earlier_one_of_its_folder_whose_files_are_kept(
    target: FakeTarget, state: str
) -> None:
    """A restart file that its user has removed, say; and what could not be brought back yet is not touched."""
    end(target, "a.1", state, dstdir="/land/guest/a/home/guest/j")
    assert folder_of(target, gid="a.2") == "j.a.2"
    target.site.spool.job_folder("a.1").rmdir()
    assert folder_of(target, gid="a.3", dir="/home/guest/k") == "k"
    with target.site.spool.change() as change:
        change.remove(Queue.RECEIVED, "a.2")
    assert folder_of(target, gid="a.4") == "j", "the files were removed"


def test_no_jobs_folder_is_in_that_of_another(target: FakeTarget) -> None:
    """Its results would be removed with the other's files, and go back as the other's."""
    target.put(gid="a.1", state="Submitted", dstdir="/land/guest/a/home/guest/p/q")
    end(target, "a.2", "End", dstdir="/land/guest/a/home/guest/p/r")
    assert folder_of(target, gid="a.3", dir="/home/guest/p/q/case") == "p/q.a.3/case"
    assert folder_of(target, gid="a.4", dir="/home/guest/p") == "p.a.4"
    assert folder_of(target, gid="a.5", dir="/home/guest/p/r/case/1") == "p/r.a.5/case/1"
    assert folder_of(target, gid="a.6", dir="/home/guest/p/rr") == "p/rr"


def test_an_attempt_after_one_that_was_given_back_goes_on_in_its_folder(target: FakeTarget) -> None:
    target.put(gid="a.1", state="Submitted", dstdir="/land/guest/a/home/guest/j")
    end(target, "a.2", "Requested", dstdir="/land/guest/a/home/guest/j.a.2", attempt=1)
    with target.site.spool.change() as change:
        change.remove(Queue.RECEIVED, "a.1")
    assert folder_of(target, gid="a.2", attempt=2) == "j.a.2"
    assert folder_of(target, gid="a.3") == "j"


def test_an_attempt_does_not_go_on_in_a_folder_that_another_job_has_got_since(target: FakeTarget) -> None:
    end(target, "a.1", "Requested", dstdir="/land/guest/a/home/guest/j", attempt=1)
    target.site.spool.job_folder("a.1").rmdir()
    assert folder_of(target, gid="a.2") == "j"
    target.site.spool.job_folder("a.1").mkdir()
    assert folder_of(target, gid="a.1", attempt=2) == "j.a.1"


def test_a_folder_whose_name_is_as_long_as_names_may_be_can_stand_beside_too(target: FakeTarget) -> None:
    folder = f"/home/guest/{'n' * 255}"
    first, second = hand(target, dir=folder, cores=1), hand(target, gid="a.2", dir=folder, cores=1)
    assert isinstance(first, Taken)
    assert isinstance(second, Taken)
    name = second.record.dstdir.rpartition("/")[2]
    assert (len(name), name.endswith(".a.2")) == (255, True)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"src": "c", "gid": "c.1"}, "src"),
        ({"gid": "b.1"}, "src"),
        ({"dst": "c"}, "record"),
        ({"state": "Waiting"}, "record"),
        ({"dir": "/home/../etc"}, "record"),
        ({"dir": "home"}, "record"),
        ({"dir": "//x"}, "record"),
        ({"cores": 3, "nodes": 2}, "record"),
        ({"walltime": 0}, "record"),
        ({"prog": ""}, "record"),
        ({"env": ("A;reboot=1",)}, "record"),
        ({"args": ("a\0b",)}, "record"),
        ({"user": "root"}, "no-account"),
        ({"user": "no-such-user"}, "no-account"),
    ],
)
def test_what_is_never_taken(target: FakeTarget, fields: dict[str, Any], code: str) -> None:
    reply = hand(target, **fields)
    assert isinstance(reply, Refused)
    assert reply.code == code


def test_a_folder_whose_path_would_be_too_long_here_is_refused_with_the_bytes(target: FakeTarget) -> None:
    refused = hand(target, dir=f"/home/guest{'/ö' * 1_300}")
    assert isinstance(refused, Refused)
    assert refused.text == "the path of the job's folder would have 3,924 bytes here: at most 3,796"
    assert (refused.code, refused.lasting) == ("path", True)


def test_the_service_takes_no_job_for_itself(target: FakeTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: pwd.getpwnam("guest").pw_uid)
    reply = accept(target.site, "a", OFFER)
    assert isinstance(reply, Refused)
    assert reply.code == "no-account"


def about(gid: str = "a.1", attempt: int = 1, *, discard: bool = False) -> dict[str, Any]:
    return About(gid, attempt, discard).to_data()


def test_a_withdrawn_attempt_is_refused_from_then_on_and_the_next_is_taken(target: FakeTarget) -> None:
    for _ in range(2):
        assert send(target, "withdraw", about()) == Unknown("a.1", 1)
    reply = hand(target)
    assert isinstance(reply, Refused)
    assert (reply.code, reply.lasting) == ("attempt", False)
    asked = send(target, "query", Query(("a.1",)).to_data())
    assert isinstance(asked, States)
    assert asked.unknown == ("a.1",)
    assert isinstance(hand(target, attempt=2), Taken)
    assert send(target, "withdraw", about()) == Unknown("a.1", 1)


def test_withdrawn_jobs_of_a_cluster_are_bounded(target: FakeTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("migration.passes.target.answer_avail_accept_query_withdraw_stop._MOST_WITHDRAWN", 2)
    replies = [send(target, "withdraw", About(f"a.{number}", 1).to_data()) for number in (1, 2, 3, 2)]
    assert [type(one) for one in replies] == [Unknown, Unknown, Failed, Unknown]


def test_a_job_that_is_here_is_not_withdrawn(target: FakeTarget) -> None:
    hand(target)
    reply = send(target, "withdraw", about())
    assert isinstance(reply, State)
    assert reply.record.state == "Waiting"


def test_a_job_given_back_is_answered_and_not_taken_again_in_that_attempt(target: FakeTarget) -> None:
    target.put(state="Requested")
    with target.site.spool.change() as change:
        change.move(Queue.RECEIVED, Queue.DONE, target.read())
    asked = send(target, "query", Query(("a.1",)).to_data())
    assert isinstance(asked, States)
    assert [record.state for record in asked.records] == ["Requested"]
    assert isinstance(hand(target), Refused)
    assert isinstance(hand(target, attempt=2), Taken)


def test_a_waiting_job_stops_at_once_and_a_later_one_by_its_process(target: FakeTarget) -> None:
    hand(target)
    reply = send(target, "stop", about())
    assert isinstance(reply, State)
    assert reply.record.state == "Stopped"
    target.put(gid="a.2", state="Making")
    reply = send(target, "stop", about("a.2", discard=True))
    assert isinstance(reply, State)
    assert (reply.record.state, reply.record.stop) == ("Making", "discard")
    reply = send(target, "stop", about("a.2"))
    assert isinstance(reply, State)
    assert reply.record.stop == "discard"
    assert send(target, "stop", about("a.3")) == Unknown("a.3", 1)


def test_a_cluster_hears_nothing_of_anothers_jobs(target: FakeTarget) -> None:
    target.put(state="Making")
    for verb in ("stop", "withdraw"):
        assert isinstance(send(target, verb, about(), cluster="c"), Failed)
    asked = send(target, "query", Query(("a.1",)).to_data(), cluster="c")
    assert isinstance(asked, States)
    assert (asked.records, asked.unknown) == ((), ("a.1",))


def test_an_account_in_a_refused_group_is_no_guests(target: FakeTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getgrouplist", lambda name, gid: [gid, 4])
    refused = accept(target.site, "a", OFFER)
    assert isinstance(refused, Refused)
    assert refused.code == "no-account"
    assert "no account: user 'guest' is in group adm: no job runs as its members" in refused.text


def test_the_landing_folder_is_tried_for_an_account_that_may_be_used(target: FakeTarget) -> None:
    def landing(user: object) -> str:
        answer = send(target, "avail", {"v": 1, "landing_of": user})
        assert isinstance(answer, Answer)
        return answer.landing

    assert landing("guest") == "writable"
    assert [operation[0] for operation in target.users.operations] == ["folder", "remove"]
    target.users.answers["folder"] = Finished(4, b"", b"folder: /land/guest: is a folder of bob")
    assert landing("guest") == "folder: /land/guest: is a folder of bob"
    assert landing("root") == "no account"
    assert "no account: user 'daemon' has user id 1" in landing("daemon")
    assert landing(3) == ""


def test_no_more_is_taken_of_a_user_whose_many_ended_jobs_are_not_cleared_yet(target: FakeTarget) -> None:
    file = target.site.file
    target.site = replace(target.site, file=replace(file, limits=replace(file.limits, max_ended_per_user=2)))
    for number in (7, 8):
        record = target.put(gid=f"a.{number}", user="guest", state="End")
        target.site.spool.job_folder(record.gid).mkdir(parents=True)
        with target.site.spool.change() as change:
            change.move(Queue.RECEIVED, Queue.DONE, record)
    refused = hand(target)
    assert isinstance(refused, Refused)
    assert (refused.code, refused.lasting) == ("crowd", False)
    assert refused.text == "2 ended jobs of this user are not cleared here yet"
    target.site.spool.job_folder("a.7").rmdir()
    assert isinstance(hand(target), Taken)


def pause(target: FakeTarget, *clusters: str) -> None:
    file = target.site.file
    target.site = replace(target.site, file=replace(file, here=replace(file.here, pause_taking_from=clusters)))


def test_while_taking_is_paused_no_new_job_is_taken_and_those_that_are_here_go_on(target: FakeTarget) -> None:
    assert isinstance(hand(target), Taken)
    pause(target, "a")
    assert isinstance(hand(target), Taken), "the answer to a repeated offer is the same"
    busy = hand(target, gid="a.2")
    assert isinstance(busy, Busy)
    assert busy.text == "takes no jobs of this cluster at the moment (its pause_taking_from)"
    avail = send(target, "avail")
    assert isinstance(avail, Answer)
    assert (avail.paused, avail.avail, avail.slots) == (True, 0, 0)
    states = send(target, "query", Query(("a.1",)).to_data())
    assert isinstance(states, States)
    assert [record.gid for record in states.records] == ["a.1"]
    assert isinstance(send(target, "stop", About("a.1", 1).to_data()), State)


def test_a_pause_is_of_the_cluster_that_it_names(target: FakeTarget) -> None:
    pause(target, "c")
    assert isinstance(hand(target), Taken)
    pause(target, "any")
    assert isinstance(hand(target, gid="a.2", cores=1), Busy)


def test_no_source_takes_the_places_of_another(target: FakeTarget) -> None:
    """So many jobs of each source are on their way; the cores of all are promised to no other job."""
    limits = replace(target.site.file.limits, max_in_flight_per_target=2)
    target.site = replace(target.site, file=replace(target.site.file, limits=limits))
    for number in (1, 2):
        target.put(gid=f"c.{number}", src="c", state="Waiting", cores=1)
    of_a, of_c = (send(target, "avail", cluster=cluster) for cluster in ("a", "c"))
    assert isinstance(of_a, Answer)
    assert isinstance(of_c, Answer)
    assert (of_a.slots, of_c.slots) == (2, 0)
    assert (of_a.avail, of_c.avail) == (6, 6)
