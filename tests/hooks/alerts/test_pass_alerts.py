"""Alerts: told once when something begins and once when it is over, by syslog and by the site's command."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from hooks.alerts import pass_alerts as alerts_module
from hooks.alerts import syslog
from hooks.alerts.alert_command import run_program
from hooks.alerts.pass_alerts import FAILING, HANDED_BACK, Alerts, describe_alerts
from hooks.pbs.files_and_output.only_root_can_write import find_fault
from hooks.store.state_files import State
from tests.hooks.run_bundled_hook import Hook
from tests.hooks.sample_server_statuses import queue, server_status

HOUR_S = 3600.0
AT_S = 1_795_000_000.0


class Listener:
    """A host's syslog, as a socket at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.setblocking(False)

    def lines(self) -> list[str]:
        """What came since the last time."""
        found: list[str] = []
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(self._socket.recv(65536).decode("ascii"))
        return found

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    made = Listener(tmp_path / "log")
    monkeypatch.setattr(
        alerts_module, "send_line", lambda text, severity: syslog.send_line(text, severity, str(made.path))
    )
    yield made
    made.close()


def wait_for(found: Callable[[], Any]) -> Any:
    until_s = time.monotonic() + 60
    while not found():
        assert time.monotonic() < until_s
        time.sleep(0.02)
    return found()


def severities(lines: list[str]) -> list[int]:
    """Of lines of facility daemon with our tag."""
    assert all(line.startswith("<") and "pbsteer[" in line for line in lines)
    numbers = [int(line[1 : line.index(">")]) for line in lines]
    assert {number // 8 for number in numbers} <= {3}
    return [number % 8 for number in numbers]


def test_a_failure_is_reported_once_then_hourly_and_once_when_it_is_over(state: State, listener: Listener) -> None:
    for minute in range(121):
        # Each pass is a process of its own.
        Alerts.read(state).report(FAILING, "a pass failed: ValueError: no", AT_S + minute * 60)
    assert severities(listener.lines()) == [4, 4, 4]
    Alerts.read(state).note_pass(0, AT_S + 2 * HOUR_S + 60)
    assert listener.lines() == []
    Alerts.read(state).note_pass(0, AT_S + 2 * HOUR_S + 301)
    (over,) = listener.lines()
    assert (severities([over]), "well again" in over) == ([5], True)
    Alerts.read(state).note_pass(0, AT_S + 2 * HOUR_S + 400)
    assert listener.lines() == []


def test_passes_that_fail_now_and_then_are_one_episode(state: State, listener: Listener) -> None:
    for number in range(20):
        Alerts.read(state).report(FAILING, "no", AT_S + number * 30)
        Alerts.read(state).note_pass(0, AT_S + number * 30 + 15)
    assert len(listener.lines()) == 1


def test_a_clock_that_is_set_back_neither_ends_an_episode_nor_reports_it_again(
    state: State, listener: Listener
) -> None:
    Alerts.read(state).report(FAILING, "no", AT_S)
    assert len(listener.lines()) == 1
    back_s = AT_S - HOUR_S
    Alerts.read(state).note_pass(3, back_s)
    Alerts.read(state).report(FAILING, "no", back_s + 15)
    assert listener.lines() == []
    # By the new clock it is over after five minutes, and reported again after an hour.
    Alerts.read(state).note_pass(3, back_s + 300)
    assert listener.lines() == []
    Alerts.read(state).report(FAILING, "no", back_s + HOUR_S)
    assert severities(listener.lines()) == [4]
    Alerts.read(state).note_pass(0, back_s + HOUR_S + 300)
    (over,) = listener.lines()
    assert "none has failed for 300 s" in over


def test_an_episode_that_no_pass_has_seen_since_the_clock_was_set_back_is_over_after_a_while(
    state: State, listener: Listener
) -> None:
    Alerts.read(state).report(FAILING, "no", AT_S)
    for second in range(0, 301, 100):
        Alerts.read(state).note_pass(0, AT_S - HOUR_S + second)
    assert severities(listener.lines()) == [4, 5]


def test_a_hand_back_is_an_error_and_over_once_passes_may_drive_again(state: State, listener: Listener) -> None:
    Alerts.read(state).report(HANDED_BACK, "scheduler default is switched on again", AT_S)
    for missing in (9, 5, 1):
        Alerts.read(state).note_pass(missing, AT_S + 100)
    assert severities(listener.lines()) == [3]
    Alerts.read(state).note_pass(9, AT_S + HOUR_S + 1)
    assert severities(listener.lines()) == [3]
    Alerts.read(state).note_pass(0, AT_S + HOUR_S + 10)
    assert severities(listener.lines()) == [5]


def test_what_users_wrote_is_escaped_and_cut(listener: Listener) -> None:
    assert not syslog.send_line("x\n<0>kernel: \x1b[2J é" + "y" * 100_000, 4, str(listener.path))
    (line,) = listener.lines()
    assert (line.isprintable(), len(line) < 1024, "\\n<0>kernel: \\x1b[2J \\xe9" in line) == (True, True, True)


def test_a_host_without_a_syslog_or_with_a_full_one_keeps_nobody_waiting(tmp_path: Path, listener: Listener) -> None:
    assert "No such file" in syslog.send_line("x", 4, str(tmp_path / "none"))
    begun_s = time.monotonic()
    said = [syslog.send_line("y" * 800, 4, str(listener.path)) for _ in range(5000)]
    assert "Resource temporarily unavailable" in said[-1]
    assert time.monotonic() - begun_s < 60


def test_the_command_reads_the_text_and_how_it_ended_is_written_down(
    state: State, listener: Listener, tmp_path: Path
) -> None:
    alerts = Alerts.read(state)
    alerts.use(["/usr/bin/tee", str(tmp_path / "told")])
    alerts.report(FAILING, "a pass failed: no\nsuch thing", AT_S)
    assert alerts.notes == []
    ended = wait_for(lambda: state.read_published("alert-command.json"))
    assert (ended["program"], ended["problem"]) == ("/usr/bin/tee", "")
    assert (tmp_path / "told").read_text() == f"pbsteer on {socket.gethostname()}: a pass failed: no\\nsuch thing\n"
    assert len(listener.lines()) == 1
    told = describe_alerts(state)
    assert (told["lasting"], told["command_problem"], told["text"]) == ([FAILING], "", "a pass failed: no\\nsuch thing")


def test_nobody_waits_for_a_slow_command(state: State, listener: Listener) -> None:
    alerts = Alerts.read(state)
    alerts.use(["/bin/sleep", "3"])
    alerts.report(FAILING, "no", AT_S)
    assert not state.read_published("alert-command.json"), "the command has ended already"
    assert wait_for(lambda: state.read_published("alert-command.json"))["problem"] == ""
    assert listener.lines()


def test_a_command_that_fails_is_reported_in_the_status(state: State, listener: Listener) -> None:
    alerts = Alerts.read(state)
    alerts.use(["/bin/false"])
    alerts.report(FAILING, "no", AT_S)
    assert wait_for(lambda: describe_alerts(state)["command_problem"]) == "ended with 1"
    assert listener.lines()


def test_a_command_is_killed_with_what_it_started_after_its_time(tmp_path: Path) -> None:
    script = f"sleep 300 & echo $! > {tmp_path}/child; wait"
    assert run_program(["/bin/sh", "-c", script], "x", 1.0) == "killed, since it took longer than 1 s"
    child = (tmp_path / "child").read_text().strip()

    def is_gone() -> bool:
        try:
            return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    wait_for(is_gone)


def test_a_command_gets_nothing_of_the_process_that_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("SECRET", "of the server")
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        script = f"env | cut -d= -f1 > {tmp_path}/env; ls -l /proc/$$/fd > {tmp_path}/fd; pwd > {tmp_path}/cwd"
        assert run_program(["/bin/sh", "-c", script], "x") == ""
    assert set((tmp_path / "env").read_text().split()) <= {"PATH", "HOME", "LANG", "PWD", "SHLVL", "_", "OLDPWD"}
    assert "held" not in (tmp_path / "fd").read_text()
    assert (tmp_path / "cwd").read_text() == "/\n"


def test_a_command_that_others_could_change_is_not_run(tmp_path: Path, state: State, listener: Listener) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    program.chmod(0o777)
    assert find_fault("/bin/true") == ""
    assert "is writable for others than root" in find_fault(str(program)) or "belongs to user" in find_fault(
        str(program)
    )
    alerts = Alerts.read(state)
    alerts.use([str(program)])
    alerts.report(FAILING, "no", AT_S)
    (note,) = alerts.notes
    assert note.startswith("the command for alerts is not run: ")
    assert "not run" in describe_alerts(state)["command_problem"]
    assert not (tmp_path / "was-run").exists()
    assert listener.lines()


@pytest.mark.parametrize(
    ("path", "words"),
    [("/no/such/program", "No such file"), ("/usr/bin", "is no program"), ("/etc/passwd", "is no program")],
)
def test_what_is_no_program_is_not_run(path: str, words: str) -> None:
    assert words in find_fault(path)
    assert run_program([path], "x").startswith("not run: ")


def test_a_link_to_what_others_may_change_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_lstat = Path.lstat

    def lstat(path: Path) -> os.stat_result:
        found = real_lstat(path)
        # A root-only place for the link, which a test has not.
        return os.stat_result((found.st_mode & ~0o022, *found[1:4], 0, *found[5:])) if path in places else found

    link, folder, program = tmp_path / "link", tmp_path / "open", tmp_path / "open" / "program"
    folder.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    link.symlink_to("open/program")
    places = {*tmp_path.parents, tmp_path, folder, program, link} - {Path("/")}
    monkeypatch.setattr(Path, "lstat", lstat)
    assert find_fault(str(link)) == ""
    places.discard(folder)
    folder.chmod(0o777)
    assert f"{folder} is writable for others than root (drwxrwxrwx)" in find_fault(str(link))
    folder.chmod(0o755)
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    places |= {folder, loop}
    assert "too many links" in find_fault(str(loop))


def test_where_nothing_can_be_written_down_syslog_alone_is_told(tmp_path: Path, listener: Listener) -> None:
    broken = Alerts.read(State(tmp_path / "no-such-folder"))
    broken.use(["/usr/bin/tee", str(tmp_path / "told")])
    broken.report(FAILING, "no space", AT_S)
    assert len(listener.lines()) == 1
    assert any("the command for alerts is run for a hand-back only" in note for note in broken.notes)
    assert not (tmp_path / "told").exists()


def test_a_hand_back_is_reported_by_the_command_though_nothing_can_be_written_down(
    tmp_path: Path, listener: Listener
) -> None:
    broken = Alerts.read(State(tmp_path / "no-such-folder"))
    broken.use(["/usr/bin/tee", str(tmp_path / "told")])
    broken.report(HANDED_BACK, "scheduler default is switched on again", AT_S)
    wait_for(lambda: (tmp_path / "told").exists() and (tmp_path / "told").read_text())
    assert "scheduler default is switched on again" in (tmp_path / "told").read_text()


@pytest.mark.parametrize(
    "text", ["{ cut o", "[]", '{"episodes": 3, "last": 4, "command": 5}', '{"episodes": {"passes fail": {}}}']
)
def test_what_cannot_be_read_is_as_if_nothing_had_been_told(state: State, listener: Listener, text: str) -> None:
    (state.path / "alerts.json").write_text(text)
    assert describe_alerts(state) == {}
    Alerts.read(state).report(FAILING, "no", AT_S)
    assert len(listener.lines()) == 1


def run_one(hook: Hook, settings: dict[str, Any] | None, **more: Any) -> Any:
    cluster = server_status({}, queues={"workq": queue("observe")}).to_data()
    return hook.run("periodic", cluster=cluster, settings=settings, **more)


def test_a_pass_that_cannot_read_its_settings_is_reported_by_the_command_that_they_had(
    hook: Hook, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    run_one(hook, {"alerts": {"command": ["/usr/bin/tee", "-a", str(told)]}})
    assert not told.exists()
    for _ in range(2):
        run_one(hook, {"nonsense": 1})
    wait_for(lambda: told.exists() and told.read_text())
    (line,) = told.read_text().splitlines()
    assert "a pass failed: SettingsError: " in line
    assert "nonsense" in line
    (episode,) = json.loads((hook.state.path / "alerts.json").read_text())["episodes"]
    assert episode == FAILING


def test_a_pass_that_was_killed_is_reported_by_the_next(hook: Hook, tmp_path: Path) -> None:
    told = tmp_path / "told"
    settings = {"alerts": {"command": ["/usr/bin/tee", "-a", str(told)]}}
    run_one(hook, settings)
    (hook.state.path / "passes.json").write_text('{"unfinished": 1}')
    run_one(hook, settings)
    wait_for(lambda: told.exists() and told.read_text())
    assert "the last pass did not finish, 1 in a row" in told.read_text()
