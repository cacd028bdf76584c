"""Alerts for a change whose outcome is unknown: a line in the host's syslog, and the site's alert command.

The process that sent the change runs the command with its user's rights, from the settings that the hooks published or
``/etc/pbsteer/policy.toml``, never from a file that a user named. Each of these files and the program must be writable
by root only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from hooks.alerts.alert_command import ENVIRONMENT, TIME_LIMIT_S
from hooks.alerts.pass_alerts import LONGEST, on_stdin
from hooks.alerts.syslog import WARNING, send_line
from hooks.pbs.files_and_output.only_root_can_write import find_fault, find_other_writers
from hooks.store.state_files import State
from policy import Settings, SettingsError
from policy.model.printable_text import printable
from tui.backends.interface.backend_protocol import Backend
from tui.config.read_site_policy_toml import DEFAULT_POLICY, read_settings

Alert = Callable[[str], None]


def site_alert_of(backend: Backend) -> Alert | None:
    """The function that reports changes with an unknown outcome on this server; None for a simulated server."""
    if backend.simulated:
        return None
    return lambda text: alert_site(text, find_command(backend.journal.last_pass))


def find_command(last_pass: Path, policy: Path = DEFAULT_POLICY) -> tuple[str, ...]:
    """The site's alert command as far as this user may read it; empty if there is none."""
    with contextlib.suppress(KeyError, SettingsError):
        if not find_other_writers(str(last_pass)):
            published = State(last_pass.parent).read_published(last_pass.name)["settings"]
            return Settings.from_data(published, last_pass.name).alerts.command
    with contextlib.suppress(SettingsError):
        if not find_other_writers(str(policy)):
            return read_settings(policy).alerts.command
    return ()


def alert_site(text: str, command: Sequence[str]) -> None:
    """Write to the syslog and start the command, if any. Only the end of this process waits for the command."""
    line = printable(text)[:LONGEST]
    send_line(line, WARNING)
    if not command:
        return
    fault = find_fault(command[0])
    if fault:
        _complain(command, f"not run: {fault}")
        return
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=ENVIRONMENT,
            start_new_session=True,
            umask=0o077,
        )
    except OSError as error:
        _complain(command, f"could not be started: {error}")
        return
    threading.Thread(target=_see_to_its_end, args=(process, command, on_stdin(line)), name="alert").start()


def _see_to_its_end(process: subprocess.Popen[bytes], command: Sequence[str], text: str) -> None:
    try:
        process.communicate(text.encode("utf-8", "backslashreplace"), timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        _complain(command, f"killed, since it took longer than {TIME_LIMIT_S:g} s")
        return
    if process.returncode:
        _complain(command, f"ended with {process.returncode}")


def _complain(command: Sequence[str], problem: str) -> None:
    send_line(f"the command for alerts, {command[0]}, run by user {os.getuid()}: {problem}", WARNING)
