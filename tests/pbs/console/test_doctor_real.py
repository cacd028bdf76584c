"""``pbsteer doctor`` on a real server: all is ok where all is well, and each thing that is broken is named."""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.pbs.custom_resources import MODE_ATTRIBUTE
from hooks.store.state_folder import state_folder
from tests.hooks.deploy_on_testbed import LATE_S, deploy, quick_settings
from tests.pbs.cluster import PbsCluster

ROOT = Path(__file__).parents[3]
AS_USER = """\
import os, pwd, sys
# Before the user changes: the folder of this Python may be closed to others.
import tui.cli.doctor.doctor
from tui.cli.main import main
account = pwd.getpwnam(sys.argv[1])
os.setgroups([]), os.setgid(account.pw_gid), os.setuid(account.pw_uid)
sys.argv = ["pbsteer", *sys.argv[2:]]
main()
"""

Found = list[dict[str, Any]]


def call(pbs: PbsCluster, *words: str, user: str = "root") -> tuple[int, Found]:
    done = pbs.run(["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", AS_USER, user, "doctor", "--json", *words])
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["status"] == done.status
    return done.status, report["findings"]


def not_ok(found: Found) -> Found:
    return [each for each in found if each["level"] != "ok"]


@pytest.fixture
def healthy(pbs: PbsCluster) -> Iterator[PbsCluster]:
    """A server with hooks of which nothing is wrong any more: MoMs have their copies only some time after apply."""
    deploy(pbs, quick_settings())
    pbs.wait_until(lambda: call(pbs)[0] == 0, 180.0, "all is ok")
    yield pbs
    os.chown(state_folder(str(pbs.server_home)), 0, 0)


def test_each_broken_thing_is_named_with_what_mends_it(healthy: PbsCluster) -> None:
    pbs = healthy
    folder = state_folder(str(pbs.server_home))

    def set_line(*lines: str) -> Callable[[], object]:
        return lambda: pbs.qmgr(*lines)

    mode = f"queue workq {MODE_ATTRIBUTE}"
    broken: list[tuple[Callable[[], object], str, str, str, Callable[[], object]]] = [
        (
            set_line("set hook pbsteer_queuejob enabled = False"),
            "hooks", "pbsteer_queuejob: DISABLED", "pbsteer hooks apply",
            set_line("set hook pbsteer_queuejob enabled = True"),
        ),
        (
            set_line("set hook pbsteer_runjob alarm = 77"),
            "hooks", "pbsteer_runjob: alarm is 77", "pbsteer hooks apply",
            set_line("set hook pbsteer_runjob alarm = " + _alarm(pbs)),
        ),
        (
            set_line(f"set {mode} = dirve"),
            "queues", "queue workq has mode 'dirve'", "pbsteer do mode workq observe --yes",
            set_line(f"set {mode} = observe"),
        ),
        (
            set_line("set sched default scheduling = False"),
            "schedulers", "scheduler default is switched off", "set sched default scheduling = True",
            set_line("set sched default scheduling = True"),
        ),
        (
            lambda: os.chown(folder, 12345, 0),
            "state folder", "belongs to user 12345", f"chown -h root {folder}",
            lambda: os.chown(folder, 0, 0),
        ),
    ]  # fmt: skip
    for break_it, about, words, remedy, mend in broken:
        break_it()
        status, found = call(pbs)
        named = [each for each in not_ok(found) if each["about"] == about and words in each["text"]]
        assert status == 2, found
        assert named, not_ok(found)
        assert remedy in named[0]["do"]
        mend()
    pbs.wait_until(lambda: call(pbs)[0] == 0, 60.0 + LATE_S, "all is ok again")


def test_a_settings_file_that_was_not_applied_is_named(healthy: PbsCluster, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[schedule]\ninterval_s = 2\nbudget_s = 1.5\n[quota]\ndelay_s = 99\n")
    status, found = call(healthy, "--settings", str(policy))
    (differs,) = [each for each in not_ok(found) if each["about"] == "settings"]
    assert status == 1
    assert "quota.delay_s" in differs["text"]


def test_a_user_without_rights_sees_the_rest_and_what_is_missing(healthy: PbsCluster) -> None:
    status, found = call(healthy, user="alice")
    unseen = {each["about"]: each for each in found if each["level"] == "unseen"}
    assert status == 1, found
    assert set(unseen) == {"hooks", "passes", "state folder"}
    assert all("root" in each["text"] + each["do"] for each in unseen.values())
    fine = {each["about"] for each in found if each["level"] == "ok"}
    assert fine >= {"server", "queues", "schedulers", "MoMs", "disk"}


def test_a_bundle_names_no_user(healthy: PbsCluster, tmp_path: Path) -> None:
    pbs = healthy
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=4],[g:users=9]'")
    pbs.qsub("bob", name="secretname")
    path = tmp_path / "bundle.tar.gz"
    call(pbs, "--bundle", str(path))
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as archive:
        files = [archive.extractfile(member) for member in archive]
        text = "\n".join(file.read().decode() for file in files if file is not None)
    assert "max_run_res_soft" in text
    assert [word for word in ("alice", "bob", "carol", "secretname") if word in text] == []


def test_a_server_that_is_down_is_named(healthy: PbsCluster) -> None:
    pbs = healthy
    pbs.stop_server()
    try:
        status, found = call(pbs)
    finally:
        pbs.start_server()
    (away,) = [each for each in found if each["about"] == "server"]
    assert (status, away["level"]) == (2, "wrong")
    assert {each["about"] for each in found} >= {"versions", "state folder", "disk", "passes"}


def _alarm(pbs: PbsCluster) -> str:
    lines = pbs.qmgr("list hook pbsteer_runjob").splitlines()
    return next(line.partition(" = ")[2] for line in lines if line.strip().startswith("alarm"))
