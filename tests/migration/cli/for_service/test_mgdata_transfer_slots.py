"""The source's end of a job's data: transfers have slots, connections have bounds, and one folder has one writer."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from migration.as_user.user_files.folder_tree_listing import STAGE
from migration.cli.for_service import mgdata_ssh_forced_rsync_command as mgdata
from migration.config.cluster_file import Limits
from migration.spool.file_lock import LockHeldError
from migration.spool.queue_file import Queue
from migration.spool.spool import Spool
from policy.migration.job_record_and_copy_updates import Record

REPO = Path(__file__).parents[4]
SEND, TAKE = ["rsync-server", "--server", "--sender", "."], ["rsync-server", "--server", "."]


@contextlib.contextmanager
def busy() -> Iterator[None]:
    with pytest.raises(mgdata._BusyError):
        yield


def test_transfers_wait_for_a_slot_of_their_direction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mgdata, "_SLOT_WITHIN_S", 0)
    limits = Limits(max_uploads=1, max_downloads=1)
    with mgdata._slot(tmp_path, limits, "al", SEND), mgdata._slot(tmp_path, limits, "al", TAKE):
        with busy(), mgdata._slot(tmp_path, limits, "al", SEND):
            pass
        with mgdata._slot(tmp_path, limits, "al", ["state"]):
            pass
    with mgdata._slot(tmp_path, limits, "al", ["rsync-shared", "{}", "--server", "--sender"]):
        pass


def test_a_user_has_a_share_of_the_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mgdata, "_SLOT_WITHIN_S", 0)
    limits = Limits(max_uploads=4, max_transfers_per_user=2)
    with mgdata._slot(tmp_path, limits, "al", SEND), mgdata._slot(tmp_path, limits, "al", SEND):
        with busy(), mgdata._slot(tmp_path, limits, "al", SEND):
            pass
        with mgdata._slot(tmp_path, limits, "bo", SEND):
            pass


def test_a_key_gives_only_folders_of_this_users_jobs_that_the_same_cluster_has_under_way(tmp_path: Path) -> None:
    base: dict[str, Any] = {"src": "a", "user": "al", "dst": "b", "dir": "/h/j", "state": "Waiting"}
    jobs = [
        Record(**{**base, "gid": f"a.{number}", **more})
        for number, more in enumerate(
            ({}, {}, {"user": "bo"}, {"dst": "c"}, {"state": "Offered"}, {"state": "Submitted", "dst": "a"}), 1
        )
    ]
    with Spool(tmp_path).change() as change:
        change.put_all(Queue.SENT, jobs)
    find = mgdata._find_of_user(Spool(tmp_path), jobs[0])
    found = {job.gid: find(job.gid) is not None for job in jobs}
    assert found == {"a.1": True, "a.2": True, "a.3": False, "a.4": False, "a.5": False, "a.6": False}
    assert find("a.99") is None


def of(user: str, cluster: str) -> Record:
    return Record(gid="a.1", user=user, dst=cluster)


def test_connections_that_work_or_wait_are_bounded_per_user_per_cluster_and_in_all(tmp_path: Path) -> None:
    limits = Limits(max_connections=3, max_connections_per_cluster=2, max_connections_per_user=1)

    def enter(user: str, cluster: str) -> contextlib.AbstractContextManager[None]:
        return mgdata._admitted(tmp_path, limits, of(user, cluster))

    with enter("al", "b"):
        with (
            pytest.raises(mgdata._BusyError, match="1 connections are open for the data of al's jobs"),
            enter("al", "c"),
        ):
            pass
        with enter("bo", "b"):
            with pytest.raises(mgdata._BusyError, match="data of b's jobs"), enter("cy", "b"):
                pass
            too_many = pytest.raises(mgdata._BusyError, match="3 connections are open for jobs' data")
            with enter("cy", "c"), too_many, enter("di", "d"):
                pass
            with enter("di", "d"):
                pass


PROGRAM = """
import sys, time
sys.path.insert(0, {repo!r})
from migration.as_user.user_files import place_results_without_overwrite as placing
real = placing.read_entry
def slow(*words):
    found = real(*words)
    time.sleep(0.6)
    return found
placing.read_entry = slow
sys.exit(placing.print_settled(sys.argv[6:]))
"""


def site(tmp_path: Path, *gids: str) -> Path:
    """A source with jobs of one folder, the helper of which takes its time."""
    home, folder = tmp_path / "home", tmp_path / "job"
    home.mkdir()
    folder.mkdir()
    (home / "cluster.toml").write_text(
        'this = "a"\n[[cluster]]\nname = "a"\nscheduler = "pbs"\nlanding = "/x"\n'
        '[[cluster]]\nname = "b"\nssh = "mg@b"\n'
    )
    (tmp_path / "helper").write_text(PROGRAM.format(repo=str(REPO)))
    with Spool(home).change() as change:
        for gid in gids:
            record = Record(gid=gid, user="al", src="a", dst="b", dir=str(folder), state="Downloading", attempt=1)
            change.put(Queue.SENT, record)
    return folder


def ask(tmp_path: Path, gid: str, command: str) -> subprocess.Popen[bytes]:
    program = (
        "import sys; from migration.cli.for_service import mgdata_ssh_forced_rsync_command as mgdata; "
        f"mgdata.helper_argv = lambda: [sys.executable, {str(tmp_path / 'helper')!r}]; mgdata.main()"
    )
    env = {**os.environ, "MG_HOME": str(tmp_path / "home"), "SSH_ORIGINAL_COMMAND": command}
    return subprocess.Popen(
        [sys.executable, "-c", program, gid, "1"], cwd=REPO, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )


def test_two_downloads_into_one_folder_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    folder = site(tmp_path, "a.1", "a.2")
    for gid in ("a.1", "a.2"):
        (folder / f"{STAGE}{gid}").mkdir()
        (folder / f"{STAGE}{gid}/result").write_text(gid)
    both = [ask(tmp_path, gid, "mg settle") for gid in ("a.1", "a.2")]
    said = [one.communicate(timeout=60)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert sorted(len(one) for one in said) == [3, len('[["result", "result.mg-a.1"]]\n')]
    assert sorted(one.read_text() for one in folder.glob("result*")) == ["a.1", "a.2"]


def test_a_download_that_is_repeated_while_it_is_put_into_place_waits(tmp_path: Path) -> None:
    folder = site(tmp_path, "a.1")
    for number in range(2):
        (folder / f"{STAGE}a.1").mkdir(exist_ok=True)
        (folder / f"{STAGE}a.1/r{number}").write_text("x")
    both = [ask(tmp_path, "a.1", "mg settle") for _ in range(2)]
    assert [one.communicate(timeout=60)[0] for one in both] == [b"[]\n"] * 2
    assert sorted(one.name for one in folder.iterdir()) == [f"r{number}" for number in range(2)]


def test_what_arrives_for_a_job_is_not_put_into_place_before_it_has_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mgdata, "_LOCK_WITHIN_S", 0)
    one, other = Record(gid="a.1", dir="/h/j"), Record(gid="a.2", dir="/h/j")
    with mgdata._locked(tmp_path, one, ["rsync-server", "--server", ".", f"/h/j/{STAGE}a.1/"]):
        for operation in (["settle", "/h/j", "a.1"], ["rsync-server", "--server", ".", f"/h/j/{STAGE}a.1/"]):
            with (
                pytest.raises(LockHeldError, match=f"/h/j/{STAGE}a.1: another"),
                mgdata._locked(tmp_path, one, operation),
            ):
                pass
        began = time.monotonic()
        for operation in (["settle", "/h/j", "a.2"], ["rsync-server", "--server", ".", f"/h/j/{STAGE}a.2/"]):
            with mgdata._locked(tmp_path, other, operation):
                pass
        assert time.monotonic() - began < 30
