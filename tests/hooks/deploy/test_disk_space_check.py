"""Room on the disk, asked for before an apply writes anything."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from hooks.deploy import disk_space_and_busy_vnodes as room
from hooks.deploy.deploy_hooks import Deployment
from hooks.deploy.read_installed_server_state import DeployError
from hooks.deploy.steps_between_server_states import Step
from tests.hooks.admin_steps_for_deploy_tests import FAST, SETTINGS, silent, snapshot
from tests.hooks.fake_qmgr import FakeQmgr

Usage = namedtuple("Usage", "total used free")


def test_a_disk_without_room_changes_nothing_neither_at_first_nor_later(
    deployment: Deployment, qmgr: FakeQmgr, monkeypatch: pytest.MonkeyPatch
) -> None:
    for settings in (SETTINGS, FAST):
        before = snapshot(qmgr)
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "disk_usage", lambda _: Usage(1 << 30, 1 << 30, 0))
            with pytest.raises(DeployError, match=r": 0 KiB are free on its disk, where .* need [0-9,]+ KiB"):
                deployment.apply(settings, silent)
        assert snapshot(qmgr) == before
        deployment.apply(settings, silent)


def test_a_removal_needs_no_room(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment.apply(SETTINGS, silent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 30, 1 << 30, 0))
    deployment.remove(silent)
    assert deployment.read().hooks == {}


def test_the_hooks_own_disk_counts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "server_priv" / "hooks"
    free = {tmp_path: 1 << 20, folder: 1 << 10}
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1 << 30, 0, free[path]))
    room.demand_room(tmp_path, [Step(path=tmp_path / "a", text="x" * 256)])
    with pytest.raises(DeployError, match=f"^{folder}: 1 KiB are free"):
        room.demand_room(tmp_path, [Step(path=tmp_path / "a", text="x" * 1024)])
