"""A target with real files and queue files; its scheduler, its other users and its network are stood in for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from migration.as_user.user_files.user_files_in_landing_folder import NO_FILE
from migration.config.read_cluster_file import parse_cluster_file
from migration.programs.run_external_program_with_limits import Finished
from migration.schedulers.scheduler_interface import (
    ENDED,
    Ended,
    JobState,
    LocalJob,
    SchedulerSilent,
    SubmitRefused,
    Verdict,
)
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from migration.target_job.service_context import Site
from policy.migration.available_to_other_clusters import FreeNodes, Shape
from policy.migration.job_record_and_copy_updates import Record


class FakeScheduler:
    """Jobs by id; ``silent`` answers nothing."""

    kind = "slurm"

    def __init__(self) -> None:
        self.jobs: dict[str, JobState] = {}
        self.names: dict[str, str] = {}
        self.past: dict[str, Ended] = {}
        self.calls: list[str] = []
        self.silent = False
        self.refusal: SubmitRefused | None = None
        self.verdict = Verdict(None)
        self.cores = 8

    def _answer(self, call: str) -> None:
        if self.silent:
            raise SchedulerSilent("no answer")
        self.calls.append(call)

    def free(self) -> FreeNodes:
        self._answer("free")
        return FreeNodes(self.kind, self.cores, (Shape(1, self.cores, 1000, 0),))

    def would_start_now(self, job: LocalJob) -> Verdict:
        return self.verdict

    def submit(self, job: LocalJob) -> str:
        self._answer("submit")
        if self.refusal:
            raise self.refusal
        job_id = str(len(self.names) + 1)
        self.names[job.name] = job_id
        self.jobs[job_id] = JobState("queued")
        return job_id

    def states(self, ids: Iterable[str]) -> Mapping[str, JobState]:
        self._answer("states")
        return {job_id: self.jobs[job_id] for job_id in ids if job_id in self.jobs}

    def find_by_name(self, name: str, user: str) -> str | None:
        self._answer("find")
        job = self.jobs.get(self.names.get(name, ""))
        return self.names[name] if job is not None and job.state != ENDED else None

    def find_ended_run(self, name: str, user: str) -> str | None:
        self._answer("find ended")
        ended = self.past.get(self.names.get(name, ""))
        return self.names[name] if ended is not None and ended.ran else None

    def hold(self, job_id: str, user: str) -> None:
        self._answer("hold")

    def release(self, job_id: str, user: str) -> None:
        self._answer("release")

    def delete(self, job_id: str, user: str) -> None:
        self._answer("delete")
        self.jobs.pop(job_id, None)

    def history(self, job_id: str) -> Ended | None:
        self._answer("history")
        return self.past.get(job_id)


class FakeUsers:
    """The operations: ``answers`` by the operation's name. By default a file that is read is not there, and all else
    succeeds without output."""

    def __init__(self) -> None:
        self.answers: dict[str, Finished] = {"read": Finished(NO_FILE, b"", b"")}
        self.operations: list[tuple[str, ...]] = []

    def __call__(self, argv: Sequence[str], **more: Any) -> Finished:
        if more.get("aside"):
            return Finished(0, b"", b"")
        self.operations.append(tuple(argv))
        return self.answers.get(argv[0], Finished(0, b"", b""))


class FakeTarget:
    """Cluster b, or another ``name``, whose clock is ``now_s``."""

    def __init__(self, home: Path, name: str = "b", **here: Any) -> None:
        file = parse_cluster_file(
            {
                "this": name,
                "cluster": [
                    {"name": name, "scheduler": "slurm", "landing": "/land"},
                    {"name": "a", "ssh": "mg@a"},
                ],
                "here": here,
                "limits": {"max_uploads": 2, "max_remote_wait_s": 3600},
            },
            "test",
        )
        self.now_s = 1_000_000.0
        self.scheduler, self.users = FakeScheduler(), FakeUsers()
        self.site = Site(file, Spool(home), self.scheduler, self.users, lambda: self.now_s)

    def put(self, **fields: Any) -> Record:
        record = Record(
            **{
                "gid": "a.1", "user": "alice", "account": "alice", "src": "a", "dst": "b", "dir": "/home/alice/j",
                "dstdir": "/land/alice/a/home/alice/j", "prog": "run", "walltime": 60, "since": int(self.now_s),
                **fields,
            }
        )  # fmt: skip
        with self.site.spool.change() as change:
            change.put(Queue.RECEIVED, record)
        return record

    def read(self, gid: str = "a.1") -> Record:
        return next(
            record
            for queue in (Queue.RECEIVED, Queue.DONE)
            for record in self.site.spool.read(queue)
            if record.gid == gid
        )
