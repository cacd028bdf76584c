"""A source with 10,000 requests and ten other clusters whose answers are recorded: only network and PBS are missing."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from migration.config.cluster_file import Cluster
from migration.config.read_cluster_file import read_cluster_file
from migration.passes.source.notes_on_other_clusters import read_notes
from migration.passes.source.source_context import Source
from migration.protocol.questions import ACCEPT, AVAIL, Hand
from migration.protocol.replies import Reply, States, Taken, reply_from_data, reply_to_data
from migration.schedulers.scheduler_interface import QUEUED, Ended, JobState, LocalJob, Verdict
from migration.spool.drop_box import make_drop_box
from migration.spool.queue_file import Queue
from migration.spool.spool import INCOMING, Spool
from policy.migration.available_to_other_clusters import Answer, FreeNodes, Shape, make_answer
from policy.migration.job_record_and_copy_updates import Record, advance
from tests.migration.passes.simulated_centre import Folders

NOW = 1_790_000_000
REQUESTS = 10_000
_CLUSTERS = tuple(f"c{number}" for number in range(1, 11))
_WALLTIMES = (1800, 3600, 7200, 14_400, 43_200, 86_400, 259_200)


def put_site(home: Path, user: str, age_s: int = 600) -> None:
    """Cluster ``a`` with the requests of 50 users, one of them ``user``; most differ in what they need."""
    rng = random.Random("requests")
    others = "".join(f'[[cluster]]\nname = "{name}"\nssh = "mg@{name}"\n' for name in _CLUSTERS)
    own = '[[cluster]]\nname = "a"\nssh = "mg@a"\nscheduler = "pbs"\nlanding = "/scratch/mg"\n'
    (home / "cluster.toml").write_text(f'this = "a"\n{others}{own}')
    make_drop_box(home / INCOMING)
    with Spool(home).change() as change:
        change.put_all(Queue.REQUEST, [_make_request(rng, number, user, age_s) for number in range(1, REQUESTS + 1)])


def _make_request(rng: random.Random, number: int, user: str, age_s: int) -> Record:
    nodes = rng.choice((0, 0, 1, 2, 4, 8))
    owner = rng.randrange(50)
    return Record(
        gid=f"a.{number}", user=f"user{owner}" if owner else user, src="a", name=f"case{number:05}",
        dir=f"/home/user{owner}/study/case{number:05}", prog="./solver", args=("input.dat", "-v"),
        env=("OMP_NUM_THREADS=4",), cores=(nodes or 1) * rng.randint(1, 64), nodes=nodes,
        mem=rng.choice((0, 4096)) * bool(nodes),
        walltime=rng.choice(_WALLTIMES), build=("make",) if rng.random() < 0.5 else (), arch="x86_64-v3",
        reason="a: short by 12 cores (52 of 64)" if number % 2 else "", created=NOW - age_s, since=NOW - age_s,
    )  # fmt: skip


def make_answers(free: bool) -> dict[str, Answer]:
    """An answer of each cluster: 40 kinds of hosts, with free cores or none."""
    rng = random.Random("answers")
    found = {}
    for name in _CLUSTERS:
        kinds = tuple(Shape(rng.randint(1, 20), rng.randint(0, 64) * free, 1 << 16, 0) for _ in range(40))
        nodes = FreeNodes("pbs", 20_000, kinds, reserved=10, head_in_s=3600)
        found[name] = make_answer(name, nodes, [], 100, arch="x86_64-v3")
    return found


class RecordedClusters:
    """The other clusters: each gives its recorded answer, through the codec, and takes every job."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers
        self.calls = 0

    def __call__(self, cluster: Cluster, verb: str, body: Mapping[str, Any] | None = None) -> Reply:
        self.calls += 1
        reply: Reply = States((), ())
        if verb == AVAIL:
            reply = self._answers[cluster.name]
        elif verb == ACCEPT:
            reply = Taken(advance(Hand.from_data(body, NOW).record, "accepted", NOW), "ssh-ed25519 AAAA")
        return reply_from_data(reply_to_data(reply, NOW), NOW)


class FullScheduler:
    """This cluster's scheduler: it has ``idle`` cores on one host, and takes every job."""

    kind = "pbs"

    def __init__(self, idle: int = 1) -> None:
        self._idle = idle
        self.submitted = 0

    def free(self) -> FreeNodes:
        return FreeNodes("pbs", 20_000, (Shape(1, self._idle, 1 << 16, 0),))

    def would_start_now(self, job: LocalJob) -> Verdict:
        return Verdict(None)

    def submit(self, job: LocalJob) -> str:
        self.submitted += 1
        return f"{self.submitted}.a"

    def states(self, ids: Iterable[str]) -> Mapping[str, JobState]:
        return dict.fromkeys(ids, JobState(QUEUED))

    def find_by_name(self, name: str, user: str) -> str | None:
        return None

    def find_ended_run(self, name: str, user: str) -> str | None:
        return None

    def hold(self, job_id: str, user: str) -> None:
        pass

    def release(self, job_id: str, user: str) -> None:
        pass

    def delete(self, job_id: str, user: str) -> None:
        pass

    def history(self, job_id: str) -> Ended | None:
        return None


def open_recorded(home: Path, clusters: RecordedClusters) -> Source:
    """The source as a new process of mgsched opens it."""
    file = read_cluster_file(home)
    if file is None:
        raise ValueError(f"{home}: put_site was not called")
    return Source(Spool(home), file, clusters, FullScheduler(), Folders({}), read_notes(home), lambda: NOW)
