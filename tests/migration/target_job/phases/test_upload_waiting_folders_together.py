"""The folders of a batch: which come in one transfer, and that each comes by itself where that fails."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from migration.programs.run_external_program_with_limits import Finished
from migration.spool.file_lock import path_lock
from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import Job, key_path
from migration.target_job.job_process_lock_and_transfer_slots import hold_lease
from migration.target_job.run_phases_of_job_at_target import process, process_jobs
from tests.migration.target_job.fake_target import FakeTarget

_SURVEY = {"problem": "", "bytes": 1000, "files": 1, "refused": [], "shared": []}
_STATS = b"Total bytes sent: 12\nTotal bytes received: 3,000\n"


class _Source:
    """Answers the questions of a target: ``surveys`` by the job's id, as far as it knows the job."""

    def __init__(self, target: FakeTarget, surveys: Mapping[str, Mapping[str, object]]) -> None:
        self.target, self.surveys = target, surveys
        self.free = 90_000_000
        self.rsync = Finished(0, _STATS, b"")
        self.asked: list[str] = []
        self.fetched: list[list[str]] = []

    def __call__(self, argv: Sequence[str], **more: Any) -> Finished:
        if more.get("aside"):
            return Finished(0, b"", b"")
        if argv[0] == "space":
            return Finished(0, f"[{self.free}, 9]".encode(), b"")
        if argv[0] == "ssh":
            self.asked.append(argv[-1])
            verb, *gids = argv[-1].split(" ")[1:]
            found = [[gid, self.surveys[gid]] for gid in gids if gid in self.surveys]
            answer = "\n".join(map(json.dumps, found)) if verb == "surveys" else json.dumps(_SURVEY)
            return Finished(0, answer.encode(), b"")
        if argv[0] == "rsync":
            self.fetched.append([word for word in argv if re.match(r"(mg@a)?:", word)])
            return self.rsync
        return Finished(0, b"", b"")


def put_batch(target: FakeTarget, count: int = 3, **fields: object) -> None:
    """Jobs ``a.1`` and so on in folders side by side; the first is Uploading, the others wait."""
    for number in range(1, count + 1):
        named = {
            "dir": f"/home/alice/s/c{number}", "dstdir": f"/land/alice/a/home/alice/s/c{number}",
            "state": "Uploading" if number == 1 else "Waiting",
        }  # fmt: skip
        record = target.put(gid=f"a.{number}", **{**named, **(fields if number > 1 else {})})
        path = key_path(target.site, record)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("key")


def open_source(target: FakeTarget, *gids: str, **special: Mapping[str, object]) -> _Source:
    surveys = {**dict.fromkeys(gids, _SURVEY), **{gid.replace("_", "."): one for gid, one in special.items()}}
    source = _Source(target, surveys)
    target.users.answers = {}
    object.__setattr__(target.site, "run", source)
    return source


def test_waiting_folders_come_with_the_first_and_their_own_uploads_copy_nothing(target: FakeTarget) -> None:
    put_batch(target)
    source = open_source(target, "a.1", "a.2", "a.3")
    process_jobs(target.site, "a.1")
    assert source.asked == ["mg surveys a.1 a.2 a.3"]
    assert source.fetched == [["mg@a:job/a.1/c1", ":job/a.2/c2", ":job/a.3/c3"]]
    assert [(target.read(f"a.{n}").state, target.read(f"a.{n}").uploaded_bytes) for n in (1, 2, 3)] == [
        ("Submitted", 1000)
    ] * 3


def test_what_fails_together_comes_by_itself_and_is_not_tried_together_again(target: FakeTarget) -> None:
    put_batch(target)
    source = open_source(target, "a.1", "a.2", "a.3")
    real = source.__call__

    def refuse(argv: Sequence[str], **more: Any) -> Finished:
        if argv[0] == "ssh" and "surveys" in argv[-1]:
            source.asked.append(argv[-1])
            return Finished(1, b"", b"mgdata: command 'mg surveys': must be one of mg survey, state, settle")
        return real(argv, **more)

    object.__setattr__(target.site, "run", refuse)
    process_jobs(target.site, "a.1")
    assert source.asked == ["mg surveys a.1 a.2 a.3", "mg survey", "mg survey", "mg survey"]
    assert source.fetched == [["mg@a:job/"]] * 3
    assert [target.read(f"a.{n}").state for n in (1, 2, 3)] == ["Submitted"] * 3


def test_one_that_cannot_come_or_that_the_source_does_not_know_yet_holds_up_no_other(target: FakeTarget) -> None:
    put_batch(target, 4)
    source = open_source(target, "a.1", "a.4", a_2={**_SURVEY, "refused": ["s: no file"]})
    process(target.site, "a.1")
    assert source.fetched == [["mg@a:job/a.1/c1", ":job/a.4/c4"]]
    assert [target.read(f"a.{n}").state for n in (1, 2, 3, 4)] == ["Submitted", "Waiting", "Waiting", "Waiting"]
    assert [Job(target.site, f"a.{n}").read_arrived() is None for n in (2, 3, 4)] == [True, True, False]


def test_large_folders_come_by_themselves_and_a_transfer_is_bounded(target: FakeTarget) -> None:
    put_batch(target, 7)
    half: Mapping[str, object] = {**_SURVEY, "bytes": 250 << 20}
    large: Mapping[str, object] = {**_SURVEY, "bytes": 300 << 20}
    source = open_source(target, "a.1", a_2=half, a_3=large, a_4=half, a_5=half, a_6=half, a_7=half)
    source.free = 90 << 30
    process(target.site, "a.1")
    assert source.fetched == [["mg@a:job/a.1/c1", ":job/a.2/c2", ":job/a.4/c4", ":job/a.5/c5", ":job/a.6/c6"]]
    assert [Job(target.site, f"a.{n}").is_apart for n in range(1, 8)] == [False, False, True, *[False] * 4]


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "bob"}, {"account": "bob"}, {"src": "c"}, {"exclude": ("*.tmp",)}, {"stop": "stop"},
        {"dir": "/home/alice/other/c2", "dstdir": "/land/alice/a/home/alice/other/c2"},
        {"dstdir": "/land/alice/a/home/alice/s/c2.a.2"}, {"dir": "/home/alice/s/c 2", "dstdir": "/land/alice/a/c 2"},
        {"dir": "/home/alice/s/-c2", "dstdir": "/land/alice/a/home/alice/s/-c2"}, {"state": "Making"},
        {"dir": "/home/alice/s/c1", "dstdir": "/land/alice/a/home/alice/s/c1"},
    ],
)  # fmt: skip
def test_only_waiting_folders_of_the_same_user_side_by_side_come_together(
    target: FakeTarget, fields: dict[str, object]
) -> None:
    put_batch(target, 2, **fields)
    source = open_source(target, "a.1", "a.2")
    process(target.site, "a.1")
    assert source.asked == ["mg survey"]
    assert source.fetched == [["mg@a:job/"]]


def test_a_job_on_which_another_process_works_or_whose_folder_is_being_removed_is_left_to_it(
    target: FakeTarget,
) -> None:
    put_batch(target)
    source = open_source(target, "a.1", "a.2", "a.3")
    lock = path_lock(target.site.home, "/land/alice/a/home/alice/s/c3", 0)
    with hold_lease(target.site.spool.job_folder("a.2")), lock:
        process(target.site, "a.1")
    assert source.asked == ["mg survey"]


def test_a_job_that_is_stopped_meanwhile_stays_stopped(target: FakeTarget) -> None:
    put_batch(target)
    source = open_source(target, "a.1", "a.2", "a.3")
    real = source.__call__

    def stop_then(argv: Sequence[str], **more: Any) -> Finished:
        if argv[0] == "rsync":
            with target.site.spool.change() as change:
                change.remove(Queue.RECEIVED, "a.2")
        return real(argv, **more)

    object.__setattr__(target.site, "run", stop_then)
    process_jobs(target.site, "a.1")
    assert [one.gid for one in target.site.spool.read(Queue.RECEIVED)] == ["a.1", "a.3"]


def test_a_process_waits_for_a_shared_file_that_others_bring_and_goes_on_at_once(target: FakeTarget) -> None:
    put_batch(target, 1)
    shared = {**_SURVEY, "shared": [{"link": "mesh", "path": "/data/m", "size": 5, "mtime_ns": 7}]}
    source = open_source(target)
    real = source.__call__

    def answer(argv: Sequence[str], **more: Any) -> Finished:
        if argv[0] == "shared":
            return Finished(0, b'["/land/alice/a/data/m", true]', b"")
        return Finished(0, json.dumps(shared).encode(), b"") if argv[0] == "ssh" else real(argv, **more)

    object.__setattr__(target.site, "run", answer)
    held = path_lock(target.site.home, "/land/alice/a/data/m", 0)
    held.__enter__()
    ends = threading.Timer(1.5, lambda: held.__exit__(None, None, None))
    ends.start()
    process_jobs(target.site, "a.1")
    ends.join()
    assert target.read("a.1").state == "Submitted"
