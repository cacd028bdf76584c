"""A job from acceptance to its end, killed before and after each call to the outside: the end is always the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from migration.programs.run_external_program_with_limits import Finished
from migration.schedulers.scheduler_interface import JobState, LocalJob
from migration.target_job.job_at_target import GoneError, Job, key_path
from migration.target_job.phases.follow_local_job import watch
from migration.target_job.run_phases_of_job_at_target import process
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.target_job.fake_target import FakeTarget

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
        for name in ("find_by_name", "submit", "states", "history"):
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
