"""Several operations in one process of the helper: each is checked, isolated, bounded and ended as one alone is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from migration.as_user import call_root_helper, root_helper_command
from migration.as_user.call_root_helper_session import HelperSession
from migration.as_user.helper.root_helper_session import SESSION, write_request
from migration.as_user.user_files.user_files_in_landing_folder import NO_FILE
from migration.programs.run_external_program_with_limits import (
    MOST_OUTPUT,
    NOT_STARTED,
    STOPPED,
    TIMED_OUT,
    TOO_MUCH,
    Finished,
)
from tests.migration.as_user.root_helper_for_test_account import use_helper
from tests.migration.fake_user_account import UID

REPO = Path(__file__).parents[4]


@pytest.fixture
def session() -> Iterator[HelperSession]:
    opened = HelperSession()
    yield opened
    opened.close()


def build(session: HelperSession, folder: Path, command: str, **more: object) -> Finished:
    return session(["build", "new"], user="guest", cwd=str(folder), stdin=command.encode(), **more)  # type: ignore[arg-type]


def helper_pid(session: HelperSession) -> int:
    assert session._helper is not None
    return session._helper._process.pid


def runs(command: str) -> bool:
    """Whether the user runs it."""
    return subprocess.run(["pgrep", "-u", str(UID), "-f", f"^{command}$"], check=False).returncode == 0


def wait_until_gone(command: str) -> None:
    deadline = time.monotonic() + 30
    while runs(command):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_operations_come_one_after_the_other_with_their_own_input_output_and_status(
    landing: Path, session: HelperSession
) -> None:
    assert session(["folder", str(landing), "guest/a"], user="guest") == Finished(0, b"", b"")
    pid, path = helper_pid(session), str(landing / "guest/a/w")
    for data in (os.urandom(3_000_000), b"", b"x"):
        assert session(["write", path, "600"], user="guest", stdin=data).status == 0
        assert session(["read", path, "4000000"], user="guest").out == data
    assert session(["read", f"{path}x", "7"], user="guest").status == NO_FILE
    wrong = session(["read", "/dev/null", "7"], user="guest")
    assert (wrong.status, wrong.problem) == (1, "read: /dev/null: no regular file")
    assert (landing / "guest/a/w").stat().st_uid == UID
    assert helper_pid(session) == pid


def test_each_operation_is_checked_and_a_refusal_ends_nothing(landing: Path, session: HelperSession) -> None:
    for user, operation, problem in (
        ("root", "space", "at least 1000"),
        ("no-such-user", "space", "no such account"),
        ("guest", "sh", "operation 'sh': must be one of"),
    ):
        refused = session([operation, "/"], user=user, stdin=b"left unread")
        assert refused.status == os.EX_NOPERM
        assert problem in refused.problem
    assert session(["namespace"], user="guest").text == "own\n"
    assert session(["folder", str(landing), "guest/a"], user="guest").status == 0


def test_words_that_are_no_text_arrive_as_they_are(landing: Path, session: HelperSession) -> None:
    name = os.fsdecode(b"a \xff\n'$")
    assert session(["folder", str(landing), f"guest/{name}"], user="guest").status == 0
    assert [one.name for one in (landing / "guest").iterdir()] == [name]


def test_what_an_operation_leaves_ends_before_the_next_one(landing: Path, session: HelperSession) -> None:
    session(["folder", str(landing), "guest/a"], user="guest")
    leave = "setsid sh -c 'setsid sleep 64 & touch left; sleep 64' & while ! [ -e left ]; do sleep 0.1; done"
    assert build(session, landing / "guest/a", leave).status == 0
    assert not runs("sleep 64")


def test_an_operation_has_no_file_of_the_helper_and_sees_its_own_processes(
    landing: Path, session: HelperSession
) -> None:
    session(["folder", str(landing), "guest/a"], user="guest")
    session(["write", str(landing / "guest/a/w"), "600"], user="guest", stdin=b"secret of before")
    assert build(session, landing / "guest/a", "ls -l /proc/*/fd; cat /proc/1/environ; ps -A | wc -l").status == 0
    log = (landing / "guest/a/mg-build.log").read_text()
    assert "/proc/1/environ: Permission denied" in log
    assert "memfd:input" not in log
    assert "memfd:out" not in log
    assert int(log.splitlines()[-1]) < 9


def test_an_operation_ends_at_its_limit_and_the_session_goes_on(landing: Path, session: HelperSession) -> None:
    session(["folder", str(landing), "guest/a"], user="guest")
    pid = helper_pid(session)
    late = build(session, landing / "guest/a", "sleep 65", timeout_s=1)
    assert (late.status, late.problem) == (TIMED_OUT, "killed after 1 s")
    assert not runs("sleep 65")
    assert build(session, landing / "guest/a", "exit 3").status == 3
    assert build(session, landing / "guest/a", "kill -9 $$").status == 128 + signal.SIGKILL
    assert helper_pid(session) == pid


def test_an_operation_that_is_stopped_ends_and_the_next_one_begins_anew(landing: Path, session: HelperSession) -> None:
    session(["folder", str(landing), "guest/a"], user="guest")
    pid = helper_pid(session)
    began = time.monotonic()
    assert build(session, landing / "guest/a", "sleep 66 & sleep 66", stopped=lambda: True).status == STOPPED
    assert time.monotonic() - began < 20
    assert not runs("sleep 66")
    assert build(session, landing / "guest/a", "exit 3").status == 3
    assert helper_pid(session) != pid


def test_an_operation_that_writes_without_end_is_ended(
    session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pour = "{**root_helper.OPERATIONS, 'pour': lambda _: [os.write(1, bytes(1 << 20)) for _ in iter(int, 1)]}"
    use_helper(
        monkeypatch,
        tmp_path,
        f"import os; from migration.as_user.helper import root_helper; root_helper.OPERATIONS = {pour}",
    )
    much = session(["pour"], user="guest", timeout_s=60)
    assert (much.status, len(much.out)) == (TOO_MUCH, MOST_OUTPUT)
    assert much.problem == "ended: more than 64 MiB of output"
    assert session(["namespace"], user="guest").text == "own\n"


def test_a_process_of_the_user_cannot_enlarge_or_cut_what_it_has_written(
    session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    grow = (
        "def grow(words):\n    os.write(1, b'x')\n    for name in ('/proc/self/fd/1', '/proc/self/fd/2'):\n"
        "        try:\n            os.truncate(name, int(words[0]))\n        except OSError:\n            pass\n"
        "    return 0\nimport os; from migration.as_user.helper import root_helper\n"
    )
    use_helper(monkeypatch, tmp_path, f"{grow}root_helper.OPERATIONS = {{**root_helper.OPERATIONS, 'grow': grow}}")
    for size in ("1000000", "0", str(1 << 45)):
        assert session(["grow", size], user="guest", timeout_s=60) == Finished(0, b"x", b"")


def test_an_operation_that_breaks_says_how(
    session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_helper(
        monkeypatch, tmp_path,
        "from migration.as_user.helper import root_helper; root_helper.OPERATIONS = {'x': lambda _: {}['a\\nb']}",
    )  # fmt: skip
    done = session(["x"], user="guest")
    assert (done.status, done.err) == (1, b"mguser: KeyError: \"'a\\\\nb'\"\n")
    assert call_root_helper.run_as(["x"], user="guest") == done


def test_each_operation_is_logged_with_its_job_and_what_users_write_is_one_bounded_line(
    landing: Path, session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    write = f"lambda level, text: open({str(log)!r}, 'a').write(text + chr(10))"
    use_helper(monkeypatch, tmp_path, f"import syslog; syslog.syslog = {write}")
    session.job = "a.7\nb.1"
    assert session(["folder", str(landing), "guest/a\n\x9b" + "é" * 100], user="guest").status == 0
    assert session(["read", "x" * 5_000, *["y"] * 5_000], user="guest").status == 1
    assert session(["space", "/"], user="root").status == os.EX_NOPERM
    lines = log.read_text("ascii").splitlines()
    assert len(lines) == 3
    assert "user='guest' job='a.7\\nb.1' operation='folder' folder='/' arguments='" in lines[0]
    assert "'guest/a\\n\\x9b\\xe9" in lines[0]
    assert max(map(len, lines)) < 2_000
    assert "refused=" in lines[2]
    call_root_helper.run_as(["space", "/"], user="guest")
    assert "job='' operation='space'" in log.read_text().splitlines()[3]


def test_the_end_of_the_caller_is_the_end_of_all(landing: Path) -> None:
    call_root_helper.run_as(["folder", str(landing), "guest/a"], user="guest")
    caller = subprocess.Popen(
        [sys.executable, "-c", (
            "from migration.as_user import root_helper_command;"
            "from migration.as_user.call_root_helper_session import HelperSession;"
            f"root_helper_command.helper_argv = lambda: {root_helper_command.helper_argv()!r};"
            f"HelperSession()(['build', 'new'], user='guest', cwd={str(landing / 'guest/a')!r}, stdin=b'sleep 67')"
        )],
        cwd=REPO,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not runs("sleep 67"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    caller.kill()
    caller.wait()
    wait_until_gone("sleep 67")


def test_the_end_of_the_helper_is_that_of_the_operation(landing: Path, session: HelperSession) -> None:
    session(["folder", str(landing), "guest/a"], user="guest")

    def kill() -> bool:
        os.kill(helper_pid(session), signal.SIGKILL)
        return False

    assert build(session, landing / "guest/a", "sleep 68 & sleep 68", stopped=kill).status == NOT_STARTED
    wait_until_gone("sleep 68")
    assert build(session, landing / "guest/a", "exit 4").status == 4


TOO_LARGE = write_request(["guest", "5", "0", "/", "namespace"], MOST_OUTPUT + 1)


@pytest.mark.parametrize(
    "sent",
    [b"x" * 20, b"        -1", b"         5[1,2]", b'        21[1, false, "", "root"]', b"         3[1]", TOO_LARGE],
)
def test_what_is_no_request_ends_the_helper(sent: bytes) -> None:
    done = subprocess.run(
        [*root_helper_command.helper_argv(), SESSION], input=sent, capture_output=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert done.stdout == b""


def test_what_is_asked_while_an_operation_is_under_way_ends_it() -> None:
    asked = write_request(["guest", "5", "0", "/", "namespace"], 100)
    done = subprocess.run(
        [*root_helper_command.helper_argv(), SESSION], input=asked * 2, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_helper_that_cannot_be_started_says_so(
    session: HelperSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_helper(monkeypatch, tmp_path, "sys.exit('sorry, you may not')")
    done = session(["namespace"], user="guest")
    assert (done.status, done.problem) == (NOT_STARTED, "sorry, you may not")
