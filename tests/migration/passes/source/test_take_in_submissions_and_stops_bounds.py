"""However much one user asks for, a pass has little to do for it."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from migration.spool.drop_box import SWEPT_AFTER_S, drop
from migration.spool.queue_file import Queue
from tests.migration.passes.simulated_centre import USER, Centre, KillableSpool


@pytest.fixture
def centre(tmp_path: Path) -> Centre:
    return Centre(tmp_path, max_per_pass=100, max_in_flight_per_target=100)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Counter[Queue]:
    """How often each queue file was written."""
    found: Counter[Queue] = Counter()
    save = KillableSpool._save

    def count(self: KillableSpool, queue: Queue, *rest: object) -> None:
        found[queue] += 1
        save(self, queue, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(KillableSpool, "_save", count)
    return found


def test_a_hundred_refused_files_take_two_writes_and_one_line(centre: Centre, writes: Counter[Queue]) -> None:
    for _ in range(100):
        centre.submit(cores=0)
    messages: list[str] = []
    run(centre, messages)
    assert len(centre.where()) == 100
    for _ in range(100):
        centre.submit(cores=0)
    writes.clear()
    messages.clear()
    run(centre, messages)
    assert len(centre.where()) == 100
    assert writes == {Queue.DONE: 2}
    assert len(messages) == 1
    assert messages[0].endswith("; 99 more files of this user are not taken")


def run(centre: Centre, said: list[str]) -> None:
    """A pass whose words are kept."""
    made = centre.source

    def source() -> object:
        found = made()
        found.say = said.append
        return found

    centre.source = source  # type: ignore[method-assign,assignment]
    try:
        centre.run_pass()
    finally:
        centre.source = made  # type: ignore[method-assign]


def test_a_pass_removes_what_is_no_request(centre: Centre) -> None:
    (centre.home / "incoming/x").write_text("x" * 100)
    centre.run_pass()
    assert (centre.home / "incoming/x").exists()
    centre.clock.now = time.time() + 2 * SWEPT_AFTER_S
    centre.run_pass()
    assert not (centre.home / "incoming/x").exists()


def test_many_submissions_and_stops_take_a_few_writes(centre: Centre, writes: Counter[Queue]) -> None:
    for _ in range(60):
        centre.submit(cores=20)
    centre.run_pass()
    assert writes[Queue.REQUEST] == 2
    for number in range(1, 61):
        drop(centre.home / "incoming", [{"do": "stop", "gid": f"a.{number}"}] * 2 + [{"do": "stop", "gid": "a.99"}])
    writes.clear()
    messages: list[str] = []
    run(centre, messages)
    assert {one.state for _, one in centre.where().values()} == {"Stopped"}
    assert writes == {Queue.REQUEST: 2, Queue.DONE: 1}
    assert messages[0].startswith(f"stop asked by {USER} of 61 jobs: a.")
    assert messages[0].endswith(", ...; 1 are no jobs of this user under way")


def test_a_pass_tells_other_clusters_of_a_share_of_a_users_stops(centre: Centre) -> None:
    centre.targets["b"].cores = 100
    for _ in range(30):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    for number in range(1, 31):
        centre.targets["b"].advance(f"a.{number}", "upload")
        centre.stop(f"a.{number}")
    centre.run_pass()
    assert centre.calls.count(("b", "stop")) == 20
    centre.run_pass()
    assert centre.calls.count(("b", "stop")) == 30


def test_a_pass_deletes_a_share_of_a_users_local_jobs(centre: Centre) -> None:
    centre.queue.free_cores = 100
    for _ in range(30):
        centre.submit(cores=1, want="local")
    centre.run_pass()
    for number in range(1, 31):
        centre.stop(f"a.{number}")
    ended = []
    for _ in range(4):
        centre.run_pass()
        ended.append(sum(job.state == "ended" for job in centre.queue.jobs.values()))
    assert ended[0] == 20
    assert ended[-1] == 30


def test_stops_of_requests_that_have_a_local_job_are_shared_out_too(tmp_path: Path) -> None:
    centre = Centre(tmp_path, fallback_s=0, max_per_pass=100)
    centre.cut = {"b", "c"}
    for _ in range(30):
        centre.submit()
    for with_local in (20, 30):
        centre.run_pass()
        assert sum(bool(one.fallback) for _, one in centre.where().values()) == with_local
    for number in range(1, 31):
        centre.stop(f"a.{number}")
    centre.run_pass()
    states = Counter(one.state for _, one in centre.where().values())
    assert states == {"Stopped": 20, "Requested": 10}
    centre.run_pass()
    assert {one.state for _, one in centre.where().values()} == {"Stopped"}
    assert {job.state for job in centre.queue.jobs.values()} == {"ended"}
