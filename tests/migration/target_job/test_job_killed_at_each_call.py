"""A job from acceptance to its end, killed before and after each call to the outside: the end is always the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from migration.programs.run_external_program_with_limits import Finished
from migration.schedulers.scheduler_interface import JobState, LocalJob
from migration.spool.queue_file import Queue
from migration.target_job.job_at_target import GoneError, Job, key_path
from migration.target_job.jobs_with_something_to_do import find_needy, is_watched
from migration.target_job.phases.follow_local_job import watch
from migration.target_job.run_phases_of_job_at_target import process, process_jobs
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.target_job.fake_target import FakeTarget, FakeUsers

SURVEY = json.dumps({"problem": "", "bytes": 1, "files": 1, "refused": [], "shared": []}).encode()


class Killed(BaseException):
    """kill -9 of the job's process."""


class KilledTarget(FakeTarget):
    """Dies at the call of number ``at``, counted from 0; after the call took effect if ``after``."""

    def __init__(self, home: Path, at: int, *, after: bool) -> None:
        super().__init__(home)
        self.left, self.after, self.submitted = at, after, 0
        self.users.answers = {
            "ssh": Finished(0, SURVEY, b""), "space": Finished(0, b"[10000000, 9]", b""),
            "read": Finished(2, b"", b""),
        }  # fmt: skip
        object.__setattr__(self.site, "run", self._killing(self.users))
        for name in ("find_by_name", "find_ended_run", "submit", "states", "history"):
            setattr(self.scheduler, name, self._killing(getattr(self.scheduler, name)))

    def _killing(self, call: Any) -> Any:
        def wrapped(*args: Any, **words: Any) -> Any:
            self.left -= 1
            if self.left == -1 and not self.after:
                raise Killed
            if args and isinstance(args[0], LocalJob):
                self.submitted += 1
            result = call(*args, **words)
            if self.left == -1:
                raise Killed
            return result

        return wrapped

    def go_on(self) -> Record:
        """Passes until the job is over; the local job ends once it was submitted."""
        for _ in range(20):
            try:
                self.now_s += 100
                for job_id in list(self.scheduler.jobs):
                    if self.scheduler.jobs[job_id] == JobState("queued"):
                        self.scheduler.jobs[job_id] = JobState("running", 1)
                    else:
                        del self.scheduler.jobs[job_id]
                        self.users.answers["read"] = Finished(0, b"3\n", b"")
                process(self.site, "a.1")
                watch([Job(self.site, "a.1")])
            except (Killed, GoneError):
                pass
            if self.read().final:
                break
        return self.read()


class BatchUsers(FakeUsers):
    """Answers surveys of several jobs too, and counts the folders that came."""

    def __init__(self) -> None:
        super().__init__()
        self.together = 0

    def __call__(self, argv: Sequence[str], **more: Any) -> Finished:
        if argv[0] == "ssh" and "surveys" in argv[-1]:
            gids = argv[-1].split(" ")[2:]
            return Finished(0, b"".join(json.dumps([gid, json.loads(SURVEY)]).encode() + b"\n" for gid in gids), b"")
        self.together += argv[0] == "rsync" and any(word.startswith(":job/") for word in argv)
        return super().__call__(argv, **more)


class KilledBatch(KilledTarget):
    """Three jobs in folders side by side."""

    gids = ("a.1", "a.2", "a.3")

    def __init__(self, home: Path, at: int, *, after: bool) -> None:
        super().__init__(home, at, after=after)
        self.batch = BatchUsers()
        self.batch.answers = self.users.answers
        object.__setattr__(self.site, "run", self._killing(self.batch))
        for gid in self.gids:
            folder = f"/home/alice/{gid[2:]}"
            record = self.put(gid=gid, state="Waiting", dir=folder, dstdir=f"/land/alice/a{folder}")
            path = key_path(self.site, record)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("key")

    def end_all(self) -> list[tuple[str, str, int]]:
        """The jobs' ends, after passes until all are over."""
        for _ in range(20):
            self.now_s += 100
            for job_id, state in list(self.scheduler.jobs.items()):
                if state == JobState("queued"):
                    self.scheduler.jobs[job_id] = JobState("running", 1)
                else:
                    del self.scheduler.jobs[job_id]
                    self.batch.answers["read"] = Finished(0, b"3\n", b"")
            try:
                watch([Job(self.site, one.gid) for one in self.site.spool.read(Queue.RECEIVED) if is_watched(one)])
                for record in list(find_needy(self.site)):
                    process_jobs(self.site, record.gid)
            except Killed:
                continue
            if not self.site.spool.read(Queue.RECEIVED):
                break
        ends = [self.read(gid) for gid in self.gids]
        return [(one.state, one.exit, one.attempt) for one in ends]


@pytest.mark.parametrize("after", [False, True])
def test_a_batch_whose_folders_come_together_ends_the_same(tmp_path: Path, after: bool) -> None:
    (tmp_path / "untouched").mkdir()
    target = KilledBatch(tmp_path / "untouched", 10**6, after=after)
    assert target.end_all() == [("End", "3", 1)] * 3
    assert (target.submitted, target.batch.together) == (3, 1)
    calls = 10**6 - target.left
    for at in range(calls):
        (tmp_path / str(at)).mkdir()
        target = KilledBatch(tmp_path / str(at), at, after=after)
        assert target.end_all() == [("End", "3", 1)] * 3, at
        assert target.submitted == 3, at


def run(home: Path, at: int, *, after: bool) -> tuple[Record, KilledTarget]:
    home.mkdir()
    target = KilledTarget(home, at, after=after)
    record = target.put(state="Waiting", build=("make",))
    path = key_path(target.site, record)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("key")
    return target.go_on(), target


@pytest.mark.parametrize("after", [False, True])
def test_the_end_is_the_same_and_there_is_one_local_job(tmp_path: Path, after: bool) -> None:
    untouched, target = run(tmp_path / "untouched", 10**6, after=after)
    calls = 10**6 - target.left
    assert (untouched.state, untouched.exit, target.submitted) == ("End", "3", 1)
    assert calls >= 15
    for at in range(calls):
        record, target = run(tmp_path / str(at), at, after=after)
        assert (record.state, record.exit, record.localid, record.attempt, record.reason) == (
            "End", "3", "1", 1, "",
        ), at  # fmt: skip
        assert target.submitted == 1, at
