"""What users leave in the drop box: submissions are checked again, bounded, taken whole or refused; stops are
repeated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.spool.drop_box import drop
from migration.spool.queue_file import Queue
from migration.target_job.skip_users_with_hung_disks import HungError
from tests.migration.passes.simulated_centre import USER, Centre, Folders


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
