"""The connection that the commands of a transfer share, with a program in ssh's place: who sees its socket, and when it
ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from migration.as_user.call_root_helper import run_as
from migration.as_user.call_root_helper_session import HelperSession
from migration.as_user.helper.private_folder_for_connection import FOLDER, PLACE
from migration.programs.run_external_program_with_limits import NOT_STARTED
from migration.transfer.ssh_and_rsync_to_source import Connection, ssh_options
from tests.migration.as_user.root_helper_for_test_account import use_helper
from tests.migration.fake_user_account import UID

_SSH = """#!/bin/sh
echo "$*" >> {log}
for word in "$@"; do
    case $word in ControlPath=*) socket=${{word#ControlPath=}};; esac
done
case "$*" in *ControlMaster=yes*)
    {master}
    echo "folder $(stat -c '%a %u' "${{socket%/*}}")" >> {log}
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
    use_helper(
        monkeypatch, tmp_path, f"from migration.as_user.helper import root_helper; root_helper.find_path = {find}"
    )
    return log


def shown() -> list[str]:
    """What other processes of this host see at its place."""
    return [one.name for one in Path(PLACE).iterdir()] if Path(PLACE).is_dir() else []


def is_connected(landing: Path) -> bool:
    """Whether this test's ssh runs: other tests on this machine have theirs."""
    pattern = f"{landing / 'ssh'} .*ControlMaster=yes"
    return subprocess.run(["pgrep", "-u", str(UID), "-f", pattern], check=False).returncode == 0


def wait_until_closed(landing: Path) -> None:
    deadline = time.monotonic() + 20
    while is_connected(landing):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_socket_is_in_a_folder_that_nobody_else_sees_and_goes_with_the_connection(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = stand_in(monkeypatch, landing, tmp_path)
    connection = Connection(session, "guest", "mg@a", b"key of a job")
    for _ in range(2):
        log.write_text("")
        connection.ask("survey")
        connection.ask("state")
        assert shown() == []
        assert is_connected(landing)
        master, folder, *commands = log.read_text().splitlines()
        assert "ControlMaster=yes" in master
        assert folder == f"folder 700 {UID}"
        assert [line.rpartition(" mg ")[2] for line in commands] == ["survey", "state"]
        assert all(f"ControlPath={FOLDER}/s" in line and "ControlMaster=no" in line for line in commands)
        assert all("ControlPersist=no" in line for line in (master, *commands))
        assert "key of a job" not in log.read_text()
        connection.close()
        assert not is_connected(landing)


def test_it_ends_with_the_process_that_has_it(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(monkeypatch, landing, tmp_path)
    Connection(session, "guest", "mg@a", b"key").ask("survey")
    assert is_connected(landing)
    session.close()
    wait_until_closed(landing)
    assert shown() == []


def test_nothing_is_left_where_its_helper_is_killed(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(monkeypatch, landing, tmp_path)
    Connection(session, "guest", "mg@a", b"key").ask("survey")
    assert session._helper is not None
    session._helper._process.kill()
    wait_until_closed(landing)
    assert shown() == []
    assert not [one for one in Path("/tmp").glob(".mg-*") if one.stat().st_uid == UID]  # noqa: S108 - where none is


def test_where_it_cannot_be_opened_each_command_has_a_connection_of_its_own(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = stand_in(monkeypatch, landing, tmp_path, master="exit 255")
    connection = Connection(session, "guest", "mg@a", b"key")
    connection.ask("survey")
    connection.ask("state")
    assert log.read_text().count("ControlPath=none") == 2
    single = Connection(run_as, "guest", "mg@a", b"key")
    single.ask("survey")
    single.close()
    assert log.read_text().count("ControlPath=none") == 3


@pytest.mark.parametrize(("mode", "owner"), [(0o700, 0), (0o700, UID + 1), (0o777, UID), (0o710, UID), (None, UID)])
def test_a_folder_that_is_not_the_users_own_and_closed_is_not_used(
    landing: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int | None, owner: int
) -> None:
    """With one operation alone, which sees what is there on the host. ``mode`` None is a link to a folder."""
    log = stand_in(monkeypatch, landing, tmp_path)
    elsewhere = landing / "elsewhere"
    Path(PLACE).mkdir(mode=0o755, exist_ok=True)
    made = elsewhere if mode is None else Path(FOLDER)
    made.mkdir()
    try:
        (made / "s").touch()
        made.chmod(mode or 0o700)
        os.chown(made, owner, owner)
        if mode is None:
            Path(FOLDER).symlink_to(elsewhere)
        assert (
            run_as(["ssh", "3", "shared", *ssh_options(), "mg@a", "mg survey"], user="guest", stdin=b"key").status == 0
        )
        assert log.read_text().count("ControlPath=none") == 1
    finally:
        shutil.rmtree(made)
        Path(FOLDER).unlink(missing_ok=True)


def test_a_place_that_is_not_a_sessions_own_gets_no_folder(
    landing: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = stand_in(monkeypatch, landing, tmp_path)
    done = run_as(["connect", "3", *ssh_options(), "mg@a"], user="guest", stdin=b"key")
    assert (done.status, "only a session" in done.problem) == (1, True)
    assert (shown(), log.read_text()) == ([], "")


def test_one_operation_alone_has_none_beside_it() -> None:
    assert run_as(["connect", "0"], user="guest", aside=True).status == NOT_STARTED


def test_a_session_of_several_users_shares_no_connection_between_them(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = stand_in(monkeypatch, landing, tmp_path)
    other = f"pwd.struct_passwd(('other', 'x', {UID + 1}, {UID + 1}, '', '/', '/bin/sh'))"
    before = f"known = pwd.getpwnam; pwd.getpwnam = lambda name: {other} if name == 'other' else known(name)"
    script = tmp_path / "mguser"
    script.write_text(script.read_text().replace("\nmain()\n", f"\n{before}\nmain()\n"))
    Connection(session, "guest", "mg@a", b"key").ask("survey")
    assert session(["ssh", "3", "shared", *ssh_options(), "mg@a", "mg x"], user="other", stdin=b"key").status == 0
    assert "ControlPath=none" in log.read_text().splitlines()[-1]
