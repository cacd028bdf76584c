"""Saves a task by a signal that asks its program to save and end, and restarts the same command as the job's user.

A task counts as saved only when it has ended after the signal; before that, PBS finds nothing to restart it from.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import time
from pathlib import Path
from typing import Any

from hooks.scripts.harden_root_script import complain
from hooks.scripts.restore_task_limits import join_groups, read_bounds, set_limits, set_memory_limits
from hooks.scripts.session_processes import POLL_S, TRIES, has_ended, is_login_shell, open_session, read_strings, send
from hooks.scripts.write_saved_task_notes import begin_note, hidden_beside, note_saved, write_whole

SIGNAL = signal.SIGUSR2
WAIT_S = 25.0


def save(job_id: str, sid: int, path: Path, mom_priv: Path) -> int:
    """Signal the session's processes to save and end. Returns 0 when they have ended, 1 if they have not in time."""
    processes = open_session(sid)
    asked = [each for each in processes if not (each.pid == sid and is_login_shell(sid))]
    if not asked:
        return complain(f"session {sid} has no process to ask: the job is not saved")
    # What can fail comes first: no process is asked to end that could not be started again.
    fresh, note = hidden_beside(path), begin_note(job_id, sid, mom_priv)
    try:
        write_whole(fresh, json.dumps(describe(sid)))
        for each in asked:
            send(each, SIGNAL)
        deadline = time.monotonic() + WAIT_S
        while not all(has_ended(each) for each in asked):
            if time.monotonic() > deadline:
                return complain(f"session {sid} did not end within {WAIT_S:g} s: the job is not saved, and runs on")
            time.sleep(POLL_S)
        # The note comes first: a job that has a note and cannot be restarted is requeued.
        note_saved(job_id, sid, mom_priv)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
        note.unlink(missing_ok=True)
    for each in open_session(sid):
        send(each, signal.SIGKILL)
    return 0


def describe(sid: int) -> dict[str, Any]:
    """The task's command (empty if a login shell runs the job's script), environment, folder, output files and bounds.
    Raises OSError or ValueError if any of these cannot be read."""
    proc = Path(f"/proc/{sid}")
    return {
        "command": [] if is_login_shell(sid) else read_strings(proc / "cmdline"),
        "environment": read_strings(proc / "environ"),
        "folder": str((proc / "cwd").readlink()),
        "out": str((proc / "fd" / "1").readlink()),
        "err": str((proc / "fd" / "2").readlink()),
        **read_bounds(sid),
    }


def restart(job_id: str, sid: int, path: Path, mom_priv: Path) -> int:
    """Start the task again in a session with the old number. Returns 0 when it runs, else 1."""
    recorded = json.loads(path.read_text(encoding="ascii"))
    readable, writable = os.pipe2(os.O_CLOEXEC)
    for _ in range(TRIES):
        # The kernel gives the next process the number after this one, unless another process is faster.
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(sid - 1), encoding="ascii")
        pid = os.fork()
        if pid == 0:
            try:
                os.close(readable)
                if os.getpid() == sid:
                    become(job_id, recorded, mom_priv, writable)
            except Exception as error:  # noqa: BLE001 - whatever it is, this process must not go on as the script
                complain(f"{job_id}: {error}")
            finally:
                os._exit(1)
        if pid == sid:
            os.close(writable)
            # Closed without a byte when the command begins.
            return 1 if os.read(readable, 1) else 0
        os.waitpid(pid, 0)
        time.sleep(POLL_S)
    return complain(f"{job_id}: another process has the number {sid} of its session: it cannot be restarted")


def become(job_id: str, recorded: dict[str, Any], mom_priv: Path, writable: int) -> None:
    """Become the task, in a session of its own. Writes a byte to the pipe if that fails."""
    script = os.getppid()
    try:
        os.setsid()
        # A MoM ignores or blocks signals that the job must be able to trap.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        user = pwd.getpwuid(int(os.environ["UID"]))
        join_groups(recorded)
        set_limits(recorded)
        os.initgroups(user.pw_name, int(os.environ["GID"]))
        os.setgid(int(os.environ["GID"]))
        os.setuid(user.pw_uid)
        # From here on with the user's own rights.
        os.chdir(recorded["folder"])
        for descriptor, name in ((0, os.devnull), (1, recorded["out"]), (2, recorded["err"])):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT if descriptor else os.O_RDONLY
            # A FIFO without a reader fails at once: this process would wait for one long after its job has ended.
            opened = os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
            os.set_blocking(opened, True)
            os.dup2(opened, descriptor)
            os.close(opened)
        environment = dict(entry.partition("=")[::2] for entry in recorded["environment"] if "=" in entry)
        argv = recorded["command"] or [str(mom_priv / "jobs" / f"{job_id}.SC")]
        if os.getppid() != script:
            # A slow folder delayed this process, the MoM ended the script, and the job is requeued.
            return
        set_memory_limits(recorded)
        try:
            os.execvpe(argv[0], argv, environment)  # noqa: S606 - a program and its arguments, with the user's rights
        except OSError:
            shell = user.pw_shell or "/bin/sh"
            os.execvpe(shell, [shell, *argv], environment)  # noqa: S606 - as above, for a script without a first line
    finally:
        with contextlib.suppress(OSError):
            os.write(writable, b"!")
