"""The folders of a partition's scheduler: made like the default one's, taken back, and never a way to copy more."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.read_installed_server_state import DeployError
from hooks.deploy.settings_and_partition.make_partition_scheduler_folders import make_folder
from tests.hooks.admin_steps_for_deploy_tests import PART, SETTINGS, silent
from tests.hooks.fake_qmgr import FakeQmgr

MADE = ("sched_logs_big", "sched_priv_big")


@pytest.fixture
def home(qmgr: FakeQmgr, tmp_path: Path) -> Path:
    """PBS_HOME with a default scheduler's folders."""
    (tmp_path / "sched_priv").mkdir(mode=0o750)
    (tmp_path / "sched_logs").mkdir(mode=0o755)
    (tmp_path / "sched_priv" / "sched_config").write_text("by_queue: False ALL\n")
    (tmp_path / "sched_priv" / "sched.lock").write_text("17\n")
    (tmp_path / "sched_priv").chmod(0o770)
    return tmp_path


def made(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.name.endswith("_big"))


def test_an_apply_makes_them_and_a_removal_takes_them_back(home: Path, qmgr: FakeQmgr) -> None:
    deployment = Deployment(str(home), qmgr)
    messages: list[str] = []
    deployment.apply(SETTINGS, messages.append, PART)
    assert f"make folder {home}/sched_priv_big like {home}/sched_priv, with its configuration" in messages
    assert "pbs_sched -I big" in " ".join(messages)
    folder = home / "sched_priv_big"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert [path.name for path in folder.iterdir()] == ["sched_config"]
    assert (folder / "sched_config").read_text() == "by_queue: False ALL\n"
    assert deployment.plan_apply(SETTINGS, PART) == []
    (folder / "sched.lock").write_text("18\n")
    deployment.remove(silent)
    assert made(home) == []


def test_those_that_are_there_already_stay_as_they_are_and_are_not_taken_back(home: Path, qmgr: FakeQmgr) -> None:
    (home / "sched_priv_big").mkdir()
    deployment = Deployment(str(home), qmgr)
    deployment.apply(SETTINGS, silent, PART)
    assert made(home) == list(MADE)
    assert list((home / "sched_priv_big").iterdir()) == []
    deployment.remove(silent)
    assert made(home) == ["sched_priv_big"]


def test_a_removal_that_keeps_the_partition_keeps_them(home: Path, qmgr: FakeQmgr) -> None:
    deployment = Deployment(str(home), qmgr)
    deployment.apply(SETTINGS, silent, PART)
    deployment.remove(silent, keep_partition=True)
    assert made(home) == list(MADE)


def test_an_apply_that_fails_leaves_none(home: Path, qmgr: FakeQmgr, monkeypatch: pytest.MonkeyPatch) -> None:
    make = make_folder

    def fail_at_the_second(path: Path, like: Path) -> None:
        if path.name == "sched_logs_big":
            raise OSError(28, "No space left on device")
        make(path, like)

    monkeypatch.setattr("hooks.deploy.deploy_hooks.make_folder", fail_at_the_second)
    with pytest.raises(DeployError, match=r"No space left on device; the server is as it was before"):
        Deployment(str(home), qmgr).apply(SETTINGS, silent, PART)
    assert made(home) == []


def test_what_is_no_plain_file_of_the_folder_is_not_copied(home: Path, tmp_path: Path) -> None:
    """PBS_DAEMON_SERVICE_USER may own that folder, and would own the copy."""
    secret = tmp_path / "secret"
    secret.write_text("root's")
    like = home / "sched_priv"
    (like / "holidays").symlink_to(secret)
    os.link(secret, like / "dedicated_time")
    os.mkfifo(like / "resource_group")
    make_folder(home / "sched_priv_big", like)
    assert [path.name for path in (home / "sched_priv_big").iterdir()] == ["sched_config"]


def test_a_folder_that_cannot_be_finished_is_not_left(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(OSError, match="Read-only"):
        make_folder(home / "sched_priv_big", home / "sched_priv")
    assert made(home) == []
