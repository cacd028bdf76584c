"""A user's disk that does not answer: what it costs a pass, and that nothing is concluded from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from migration.passes.source.run_at_source_job_script import HomeFolders
from migration.passes.target.target_pass_starts_processes_and_cleans_up import run_target_pass
from migration.programs.run_external_program_with_limits import TIMED_OUT, Finished
from migration.target_job import service_context
from migration.target_job.skip_users_with_hung_disks import (
    HUNG_FOR_S,
    PASS_SHARE_S,
    HungError,
    HungUsers,
)
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.target_job.fake_target import FakeTarget


class Disks:
    """The operations, of which those of ``hung`` users reach their limit; ``waited_s`` is what that cost."""

    def __init__(self, *hung: str) -> None:
        self.hung = hung
        self.waited_s: list[float] = []
        self.now_s = 1_000_000.0
        self.takes_s: dict[str | None, float] = {}
        """What each user's operations take that end by themselves."""
        self.timer_s = 0.0

    def __call__(self, argv: Sequence[str], *, user: str | None = None, timeout_s: float = 60, **_: Any) -> Finished:
        if user not in self.hung:
            self.timer_s += self.takes_s.get(user, 0)
            return Finished(2, b"", b"")
        self.waited_s.append(timeout_s)
        return Finished(TIMED_OUT, b"", b"")


def read(folders: HungUsers, user: str) -> int:
    return folders(["read", "/home/x", "16"], user=user).status


@pytest.mark.parametrize("text", ["[" * 200_000, '{"until": {"alice": Infinity}}', '{"until": {"alice": []}}', "5"])
def test_a_damaged_note_of_hung_users_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "hung.json").write_text(text)
    assert read(HungUsers(Disks(), tmp_path, lambda: 1_000_000.0), "alice") == 2


def test_a_hung_home_is_waited_for_once_and_left_alone_by_the_next_passes(tmp_path: Path) -> None:
    disks = Disks("alice")
    for _ in range(3):
        folders = HungUsers(disks, tmp_path, lambda: disks.now_s)
        assert [read(folders, "alice") for _ in range(20)] == [TIMED_OUT] * 20
        assert read(folders, "bob") == 2
    assert disks.waited_s == [10]
    disks.now_s += HUNG_FOR_S + 1
    disks.hung = ()
    assert read(HungUsers(disks, tmp_path, lambda: disks.now_s), "alice") == 2


def test_many_hung_homes_cost_a_pass_a_bounded_time_in_all(tmp_path: Path) -> None:
    users = [f"u{number}" for number in range(50)]
    disks = Disks(*users)
    folders = HungUsers(disks, tmp_path, lambda: disks.now_s)
    assert [read(folders, user) for user in users] == [TIMED_OUT] * 50
    assert sum(disks.waited_s) == 60


def test_nothing_is_concluded_from_a_folder_that_does_not_answer(tmp_path: Path) -> None:
    folders = HomeFolders(HungUsers(Disks("alice"), tmp_path, lambda: 0.0))
    record = Record(gid="a.1", user="alice", src="a", dst="a", dir="/home/alice/j", prog="p")
    with pytest.raises(HungError, match="/home/alice/j"):
        folders.read_exit(record)
    with pytest.raises(HungError, match="tried again in some minutes"):
        folders.prepare(record, "n")


def test_a_targets_pass_goes_on_beside_a_hung_user(target: FakeTarget) -> None:
    for number in range(1, 6):
        target.put(gid=f"a.{number}", state="Submitted", localid=str(number))
    target.users.answers["read"] = Finished(TIMED_OUT, b"", b"")
    for _ in range(2):
        run_target_pass(target.site, lambda gid: None)
        target.now_s += 301
    assert {target.read(f"a.{number}").state for number in range(1, 6)} == {"Submitted"}
    assert [operation[0] for operation in target.users.operations] == ["read"]


def test_a_program_of_a_scheduler_that_its_user_stops_is_waited_for_once(tmp_path: Path) -> None:
    disks = Disks("alice")
    run = HungUsers(disks, tmp_path, lambda: disks.now_s)
    assert [run(["qhold", "7"], user="alice").status for _ in range(20)] == [TIMED_OUT] * 20
    assert disks.waited_s == [30]
    assert run(["qstat", "7"]).status == 2, "what runs as no user is run as it is"


def in_pass(disks: Disks, home: Path) -> HungUsers:
    return HungUsers(disks, home, lambda: disks.now_s, PASS_SHARE_S, lambda: disks.timer_s)


def test_operations_that_a_user_holds_just_below_their_limit_cost_a_pass_one_share(tmp_path: Path) -> None:
    disks = Disks()
    disks.takes_s = {"alice": 9.0, "bob": 0.1}
    for passes in (1, 2):
        run = in_pass(disks, tmp_path)
        assert [run(["qsub"], user="alice").status for _ in range(20)].count(2) == (2 if passes == 1 else 0)
        assert read(run, "bob") == 2
        disks.now_s += 60
    assert disks.timer_s == pytest.approx(18.2)
    disks.now_s += 60
    assert read(in_pass(disks, tmp_path), "alice") == 2, "after two minutes"


def test_quick_operations_have_the_same_share_and_go_on_in_the_next_pass(tmp_path: Path) -> None:
    disks = Disks()
    disks.takes_s = {"alice": 0.25}
    for _ in range(2):
        run = in_pass(disks, tmp_path)
        assert [read(run, "alice") for _ in range(100)].count(2) == 60
    assert run(["read"], user="alice").problem.startswith("what runs as alice has taken 15 s of this pass")


def test_slow_operations_of_many_users_cost_a_pass_a_bounded_time_in_all(tmp_path: Path) -> None:
    users = [f"u{number}" for number in range(50)]
    disks = Disks()
    disks.takes_s = dict.fromkeys(users, 9.0)
    run = in_pass(disks, tmp_path)
    for user in users:
        read(run, user)
    assert disks.timer_s == 63, "what has begun within the minute ends"


def test_a_jobs_own_process_has_no_share_of_a_pass(tmp_path: Path) -> None:
    disks = Disks()
    disks.takes_s = {"alice": 9.0}
    run = HungUsers(disks, tmp_path, lambda: disks.now_s, timer=lambda: disks.timer_s)
    assert {read(run, "alice") for _ in range(20)} == {2}


def test_a_pass_at_the_target_and_its_scheduler_share_one_budget(
    target: FakeTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    monkeypatch.setattr(service_context, "open_scheduler", lambda cluster, run: opened.append(run))
    site = replace(target.site, mark=(1,)).for_pass()
    assert opened == [site.run]
