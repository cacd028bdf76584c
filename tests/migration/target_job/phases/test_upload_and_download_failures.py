"""Uploading and Downloading: where each failure leads, with answers of the source that it may give."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from migration.passes.promised_cores import is_in_flight
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.schedulers.scheduler_interface import SubmitRefused
from migration.spool.file_lock import LockHeldError, path_lock
from migration.target_job.folder_not_yet_removed import Unremoved, write_unremoved
from migration.target_job.job_at_target import Job, key_path
from migration.target_job.job_process_lock_and_transfer_slots import take_slot
from migration.target_job.retry_given_up_download import CannotResumeError, resume
from migration.target_job.run_phases_of_job_at_target import process
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.wait_and_retry_bounds import DOWNLOAD_FOR_S
from tests.migration.target_job.fake_target import FakeTarget

SURVEY = {"problem": "", "bytes": 1000, "files": 1, "refused": [], "shared": []}


def upload(target: FakeTarget, survey: object, **answers: Finished) -> Record:
    record = target.put(state="Uploading")
    give_key(target, record)
    target.users.answers = {
        "ssh": Finished(0, json.dumps(survey).encode(), b""), "space": Finished(0, b"[2000000, 9]", b""), **answers
    }  # fmt: skip
    process(target.site, "a.1")
    return target.read()


def give_key(target: FakeTarget, record: Record) -> None:
    path = key_path(target.site, record)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("key")


def failed(status: int, err: str) -> Finished:
    return Finished(status, b"", err.encode())


def test_a_folder_that_arrived_is_counted_and_submitted(target: FakeTarget) -> None:
    stats = Finished(0, b"Total bytes sent: 12\nTotal bytes received: 1,234\n", b"")
    record = upload(target, SURVEY, rsync=stats)
    assert (record.state, record.uploaded_bytes, record.localid) == ("Submitted", 1234, "1")


@pytest.mark.parametrize(
    ("survey", "answers", "state", "reason"),
    [
        ({**SURVEY, "problem": "/home/alice/j: No such file"}, {}, "Aborted", "/home/alice/j: No such file"),
        ({**SURVEY, "refused": ["s: no file"]}, {}, "Aborted", "s: no file"),
        ({**SURVEY, "bytes": 1_500_000}, {}, "Requested", "no space: "),
        (SURVEY, {"rsync": failed(11, "rsync: write failed: Disk quota exceeded (122)")}, "Requested", "no space: "),
        (SURVEY, {"rsync": failed(12, "rsync: connection closed")}, "Uploading", "tried again: rsync: connection"),
        (
            SURVEY,
            {"rsync": failed(TIMED_OUT, "rsync: connection unexpectedly closed\nkilled after 5 s")},
            "Uploading",
            "tried again: rsync: killed after 5 s",
        ),
        (SURVEY, {"folder": failed(4, "folder: is a folder of bob")}, "Requested", "folder: is a folder of bob"),
        (SURVEY, {"folder": failed(1, "folder: another user's")}, "Uploading", "tried again: /land/"),
        (SURVEY, {"ssh": failed(255, "Permission denied")}, "Uploading", "tried again: mg survey: Permission"),
        ([1], {}, "Uploading", "tried again: the source's answer cannot be read"),
        ({**SURVEY, "shared": [{"link": "", "path": "x", "size": 1, "mtime_ns": 1}]}, {}, "Uploading", "tried again"),
        ({**SURVEY, "bytes": "many"}, {}, "Uploading", "tried again: the source's answer"),
    ],
)
def test_where_a_failure_leads(
    target: FakeTarget, survey: object, answers: dict[str, Finished], state: str, reason: str
) -> None:
    record = upload(target, survey, **answers)
    assert record.state == state
    assert record.reason.startswith(reason)


def test_a_shared_file_that_is_there_is_not_copied_and_the_link_leads_to_it(target: FakeTarget) -> None:
    file = {"link": "mesh", "path": "/data/m", "size": 5, "mtime_ns": 7}
    there = Finished(0, b'["/land/alice/a/data/m", true]', b"")
    record = upload(target, {**SURVEY, "shared": [file]}, shared=there)
    assert (record.state, record.shared_bytes) == ("Submitted", 0)
    assert ("shared", "/land", "alice/a/data/m", "5", "7") in target.users.operations
    assert sum(operation[0] == "rsync" for operation in target.users.operations) == 1
    assert ("links", record.dstdir) in target.users.operations


def test_a_shared_file_that_another_job_brings_is_awaited_without_a_slot_and_the_folder_comes_once(
    target: FakeTarget,
) -> None:
    file = {"link": "mesh", "path": "/data/m", "size": 5, "mtime_ns": 7}
    there = Finished(0, b'["/land/alice/a/data/m", true]', b"")
    with path_lock(target.site.home, "/land/alice/a/data/m", 0):
        record = upload(target, {**SURVEY, "shared": [file]}, shared=there)
        assert (record.state, record.reason, record.tries) == (
            "Uploading", "/data/m is being brought by another job", 0,
        )  # fmt: skip
        assert Job(target.site, "a.1").rests
        with take_slot(target.site.home, "upload", 1) as free:
            assert free
    process(target.site, "a.1")
    assert (target.read().state, target.read().reason) == ("Submitted", "")
    names = [operation[0] for operation in target.users.operations]
    assert (names.count("rsync"), names.count("ssh"), names.count("links")) == (1, 1, 1)


def test_after_a_failure_the_folder_comes_anew(target: FakeTarget) -> None:
    file = {"link": "mesh", "path": "/data/m", "size": 5, "mtime_ns": 7}
    survey = {**SURVEY, "shared": [file]}
    record = upload(target, survey, shared=failed(1, "no such folder"))
    assert record.reason == "tried again: /data/m: no such folder"
    assert not list(target.site.spool.job_folder("a.1").glob("awaited.*"))
    target.users.answers["shared"] = Finished(0, b'["/land/alice/a/data/m", true]', b"")
    target.now_s += 61
    process(target.site, "a.1")
    assert target.read().state == "Submitted"
    assert sum(operation[0] == "rsync" for operation in target.users.operations) == 2


def test_an_upload_makes_no_folder_in_the_place_of_one_that_is_removed_meanwhile(target: FakeTarget) -> None:
    real, folders = target.users, []

    def run(argv: Sequence[str], **more: Any) -> Finished:
        if argv[0] == "rsync":
            assert "--chmod=ug-s,o-t" in argv
            folders.append((more["cwd"], argv[-1]))
            with pytest.raises(LockHeldError), path_lock(target.site.home, target.read().dstdir, 0):
                pass
        if argv[0] == "rsync" and "/data/m" in argv[-2]:
            noted = target.site.spool.job_folder("a.1") / "shared.1"
            assert json.loads(noted.read_text()) == ["/land/alice/a/data/m"], "noted before it is there"
        return real(argv, **more)

    object.__setattr__(target.site, "run", run)
    file = {"link": "mesh", "path": "/data/m", "size": 5, "mtime_ns": 7}
    record = upload(target, {**SURVEY, "shared": [file]}, shared=Finished(0, b'["/land/alice/a/data/m", false]', b""))
    assert record.state == "Submitted"
    assert folders == [(record.dstdir, "./"), ("/land/alice/a/data", "./m.mg-part")]


def test_an_upload_that_is_tried_again_promises_no_cores_until_the_folder_is_there(target: FakeTarget) -> None:
    assert is_in_flight(target.put(state="Uploading"), target.now_s)
    record = upload(target, SURVEY, rsync=failed(23, "rsync: failed to open: Permission denied (13)"))
    assert (record.state, record.tries, is_in_flight(record, target.now_s)) == ("Uploading", 1, False)
    target.scheduler.refusal = SubmitRefused("too many jobs of this user", lasting=False)
    target.users.answers["rsync"] = Finished(0, b"", b"")
    target.now_s += 61
    process(target.site, "a.1")
    record = target.read()
    assert (record.state, record.tries, is_in_flight(record, target.now_s)) == ("Submitted", 1, False)


@pytest.mark.parametrize(("attempt", "avoid"), [(1, ()), (3, ("b",))])
def test_the_third_upload_that_comes_to_no_end_is_the_last_one(
    target: FakeTarget, attempt: int, avoid: tuple[str, ...]
) -> None:
    target.put(state="Uploading", attempt=attempt, since=int(target.now_s) - 14_400, reason="no route", tries=9)
    process(target.site, "a.1")
    record = target.read()
    assert (record.state, record.avoid, record.last) == ("Requested", avoid, "b")
    assert record.reason == "not uploaded within 14400 s: no route"


def test_what_was_removed_is_not_resumed(target: FakeTarget) -> None:
    target.put(state="Downloading", then="End")
    job = Job(target.site, "a.1")
    job.advance("gave-up", reason="x")
    with pytest.raises(CannotResumeError, match="no aborted job of which results are kept"):
        resume(target.site, "a.1")
    job.folder.mkdir(parents=True, exist_ok=True)
    write_unremoved(job.folder, Unremoved(1, 5, "half of it"))
    with pytest.raises(CannotResumeError, match="no aborted job of which results are kept"):
        resume(target.site, "a.1")


def download(target: FakeTarget, **fields: Any) -> Record:
    record = target.put(state="Downloading", **fields)
    give_key(target, record)
    process(target.site, "a.1")
    return target.read()


def test_a_download_that_fails_keeps_why_the_job_came_back(target: FakeTarget) -> None:
    target.users.answers["ssh"] = failed(255, "no route")
    record = download(target, reason="build failed with 2", then="Aborted")
    assert record.reason == "build failed with 2; tried again: mg state: no route"
    target.users.answers.clear()
    target.now_s += 61
    process(target.site, "a.1")
    assert (target.read().state, target.read().reason) == ("Aborted", "build failed with 2")


def test_results_that_their_user_cannot_open_are_left_there_and_named(target: FakeTarget) -> None:
    lines = "".join(json.dumps([f"shut{number}", "c", 1, 1, ""]) + "\n" for number in range(5))
    target.users.answers["manifest"] = Finished(0, lines.encode(), b"")
    target.put(state="Downloading")
    Job(target.site, "a.1").write_manifest(b"")
    record = download(target, then="End", reason="requeued, 1 times")
    assert record.state == "End"
    assert record.reason == (
        "requeued, 1 times; left at b, since the job has closed them to its user: shut0, shut1, shut2 and 2 more"
    )


def test_a_download_is_given_up_after_seven_days_and_can_be_resumed(target: FakeTarget) -> None:
    target.users.answers["ssh"] = failed(255, "no route")
    target.put(state="Downloading", then="End", exit="3", reason="requeued, 1 times; tried again: no route")
    target.now_s += DOWNLOAD_FOR_S + 1
    give_key(target, target.read())
    process(target.site, "a.1")
    assert (target.read().state, target.read().exit) == ("Aborted", "3")
    gave_up = "requeued, 1 times; results could not be brought back: mg state: no route"
    assert target.read().reason == gave_up
    target.users.answers.clear()
    resume(target.site, "a.1")
    process(target.site, "a.1")
    assert (target.read().state, target.read().exit) == ("End", "3")
    assert target.read().reason == "requeued, 1 times"
    with pytest.raises(CannotResumeError, match="no aborted job"):
        resume(target.site, "a.1")


DEEP = "[" * 100_000
RESULT = '["r", "f", 1, 1, ""]\n'


class RogueSource:
    """The source of a job that has a result, r: what it answers to each question, by the question's word."""

    def __init__(self, target: FakeTarget, **answers: str) -> None:
        self._users, self._answers = target.users, answers
        self._users.answers |= {
            "manifest": Finished(0, RESULT.encode(), b""),
            "space": Finished(0, b"[2000000, 9]", b""),
        }
        object.__setattr__(target.site, "run", self)

    def __call__(self, argv: Sequence[str], **more: Any) -> Finished:
        if argv[0] == "ssh":
            return Finished(0, self._answers.get(argv[-1].split()[1], "[]").encode(), b"")
        return self._users(argv, **more)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        *(("state", text) for text in ("5", "null", "{}", "[1, 2, 3, 4, 5, 6]", '[[], "f"]', "x", DEEP)),
        *(
            ("settle", text)
            for text in (
                "", "5", "null", "[1]", "[[]]", '{"ab": 1}', '["rx"]', "[[5, 6]]", "[[null, null]]", '[["r"]]', DEEP,
                '[["r", "\\ud800"]]', '[["", "x"]]', '[["other", "x"]]',
            )
        ),
    ],
)  # fmt: skip
def test_a_source_that_answers_nonsense_to_a_download_is_asked_for_seven_days(
    target: FakeTarget, question: str, answer: str
) -> None:
    RogueSource(target, **{"state": RESULT, question: answer})
    target.put(state="Downloading")
    Job(target.site, "a.1").write_manifest(b"")
    record = download(target, then="End")
    assert (record.state, record.tries) == ("Downloading", 1)
    assert record.reason.startswith("tried again: the source's ")
    target.now_s += DOWNLOAD_FOR_S + 1
    process(target.site, "a.1")
    assert target.read().state == "Aborted"


def test_answers_of_a_newer_source_are_read_without_what_it_has_added(target: FakeTarget) -> None:
    RogueSource(target, state='["r", "f", 1, 1, "", "0644"]\n', settle='[["r", "r.mg-a.1", "why"]]')
    target.put(state="Downloading")
    Job(target.site, "a.1").write_manifest(b"")
    record = download(target, then="End")
    assert (record.state, record.reason) == ("End", "changed at the source and kept: r (ours: r.mg-a.1)")


INFINITE = float("inf")
ODD_SURVEYS: list[dict[str, Any]] = [
    {"bytes": -1}, {"bytes": True}, {"bytes": 1.5}, {"bytes": 10**40}, {"bytes": INFINITE}, {"bytes": float("nan")},
    {"problem": 5}, {"problem": "\ud800"}, {"refused": 5}, {"refused": [5]}, {"refused": {"a": 1}}, {"shared": {}},
    {"shared": [1]}, {"shared": [[]]},
]  # fmt: skip
ODD_SHARED_FILES: list[dict[str, Any]] = [
    {"path": "/s/\ud800"}, {"path": "/../s"}, {"path": "/s\0"}, {"path": "s"}, {"path": "/"}, {"path": None},
    {"link": "\ud800"}, {"link": "../x"}, {"link": "/x"}, {"link": None}, {"link": 0}, {"size": -1}, {"size": True},
    {"size": 10**40}, {"mtime_ns": None}, {"mtime_ns": False},
]  # fmt: skip
SHARED = {"link": "l", "path": "/s", "size": 1, "mtime_ns": 1}


@pytest.mark.parametrize(
    "survey",
    [
        DEEP,
        "[]",
        "null",
        json.dumps({**SURVEY, "bytes": INFINITE}).replace("Infinity", "1e999"),
        *(json.dumps({**SURVEY, **odd}) for odd in ODD_SURVEYS),
        *(json.dumps({**SURVEY, "shared": [{**SHARED, **odd}]}) for odd in ODD_SHARED_FILES),
    ],
    ids=range(34),
)
def test_a_survey_that_makes_no_sense_is_a_failed_upload_and_ends_no_process(target: FakeTarget, survey: str) -> None:
    RogueSource(target, survey=survey)
    give_key(target, target.put(state="Uploading"))
    process(target.site, "a.1")
    record = target.read()
    assert (record.state, record.tries) == ("Uploading", 1)
    assert record.reason.startswith("tried again: the source's answer cannot be read: ")


@pytest.mark.parametrize("together", ["5", "[]", '["a.1"]', "[[], {}]", DEEP, '["\\ud800", {}]'])
def test_surveys_that_make_no_sense_leave_each_folder_to_its_own_upload(target: FakeTarget, together: str) -> None:
    RogueSource(target, survey=json.dumps(SURVEY), surveys=together)
    give_key(target, target.put(state="Uploading"))
    target.put(gid="a.2", state="Waiting", dir="/home/alice/k", dstdir="/land/alice/a/home/alice/k")
    process(target.site, "a.1")
    assert target.read().state == "Submitted"
    assert Job(target.site, "a.2").is_apart


def test_a_job_stopped_before_anything_came_has_nothing_to_bring_back(target: FakeTarget) -> None:
    target.users.answers["manifest"] = failed(1, "No such file or directory")
    assert download(target, then="Stopped", stop="stop").state == "Stopped"
