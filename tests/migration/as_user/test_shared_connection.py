"""The connection that the commands of a transfer share, with a program in ssh's place: where its socket is, who reaches
it, and when it ends.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from migration.as_user.call_root_helper import run_as
from migration.as_user.call_root_helper_session import HelperSession
from migration.as_user.root_helper_session import NOTHING
from migration.programs.run_external_program_with_limits import NOT_STARTED
from migration.transfer.ssh_and_rsync_to_source import Connection
from tests.migration.as_user.root_helper_for_test_account import use_helper
from tests.migration.fake_user_account import UID

_SSH = """#!/bin/sh
echo "$*" >> {log}
for word in "$@"; do
    case $word in ControlPath=*) socket=${{word#ControlPath=}};; esac
done
case "$*" in *ControlMaster=yes*)
    {master}
    trap 'rm -f "$socket"; exit 0' TERM
    : > "$socket"
    while :; do sleep 0.1; done;;
esac
"""


@pytest.fixture
def session() -> Iterator[HelperSession]:
    opened = HelperSession()
    yield opened
    opened.close()


def stand_in(monkeypatch: pytest.MonkeyPatch, landing: Path, tmp_path: Path, master: str = "") -> Path:
    """Have ssh be a program that notes how it was started; ``master`` is what one that connects does first."""
    log = landing / "log"
    log.touch()
    log.chmod(0o666)
    (landing / "ssh").write_text(_SSH.format(log=log, master=master))
    (landing / "ssh").chmod(0o755)
    find = f"lambda: {str(landing)!r} + ':/usr/bin:/bin'"
    use_helper(monkeypatch, tmp_path, f"from migration.as_user import root_helper; root_helper.find_path = {find}")
    return log


def folders() -> list[Path]:
    return [one for one in Path("/tmp").glob(".mg-ssh-*") if one.stat().st_uid == UID]  # noqa: S108 - where they are


def test_the_socket_is_in_a_folder_that_is_closed_to_others_and_goes_with_the_connection(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = stand_in(monkeypatch, landing, tmp_path)
    connection = Connection(session, "guest", "mg@a", b"key of a job")
    assert folders() == []
    connection.ask("survey")
    connection.ask("state")
    (folder,) = folders()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    master, *commands = log.read_text().splitlines()
    assert "ControlMaster=yes" in master
    assert [line.rpartition(" mg ")[2] for line in commands] == ["survey", "state"]
    assert all(f"ControlPath={folder}/s" in line and "ControlMaster=no" in line for line in commands)
    assert all("ControlPersist=no" in line for line in (master, *commands))
    assert "key of a job" not in log.read_text()
    connection.close()
    assert folders() == []


def test_it_ends_with_the_process_that_has_it(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(monkeypatch, landing, tmp_path)
    Connection(session, "guest", "mg@a", b"key").ask("survey")
    assert folders()
    session.close()
    deadline = time.monotonic() + 20
    while folders():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_where_it_cannot_be_opened_each_command_has_a_connection_of_its_own(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = stand_in(monkeypatch, landing, tmp_path, master="exit 255")
    connection = Connection(session, "guest", "mg@a", b"key")
    connection.ask("survey")
    connection.ask("state")
    assert log.read_text().count("ControlPath=none") == 2
    assert folders() == []
    single = Connection(run_as, "guest", "mg@a", b"key")
    single.ask("survey")
    single.close()
    assert log.read_text().count("ControlPath=none") == 3


def test_a_folder_that_is_there_already_or_elsewhere_is_not_used(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = stand_in(monkeypatch, landing, tmp_path)
    taken = Path(f"/tmp/.mg-ssh-{os.urandom(16).hex()}")  # noqa: S108 - as above
    taken.mkdir()
    try:
        for folder in (str(taken), f"{landing}/x", "/tmp/.mg-ssh-x"):  # noqa: S108 - as above
            begun = session(["connect", "3", folder, "x"], user="guest", stdin=b"key", aside=True)
            assert begun.status == 0
            assert session(["namespace"], user="guest").status == 0
        assert session([NOTHING], user="guest", aside=True).status == 0
        assert log.read_text() == ""
        assert list(taken.iterdir()) == []
    finally:
        taken.rmdir()


def test_one_operation_alone_has_none_beside_it() -> None:
    assert run_as(["connect", "0", "x"], user="guest", aside=True).status == NOT_STARTED
