"""What a MoM runs for ``checkpoint_abort`` and ``restart``, for programs that save themselves and for any with CRIU.

``save JOB SID TASK PATH`` asks the task's processes to save, by a signal, and waits for them to end; exit status 0
tells the MoM that the work is saved, another that they run on. ``restart JOB SID TASK PATH`` starts the same command
again, as the job's user and in the same environment, which then finds what it saved. ``dump`` and ``restore`` have
CRIU save the processes as they are, and go on from there; a last argument says where CRIU is. The processes get their
old numbers, since the MoM knows the task by that. All run as root; what a user's process could have had a hand in is
used only after root's rights are gone. Needs nothing but the standard library, and no other file of pbsteer.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import syslog
import time
from pathlib import Path
from typing import Any, Callable

SIGNAL = signal.SIGUSR2
WAIT_S = 25.0
SAVED = "pbsteer-saved-"
RESTARTED = "pbsteer-restarted-"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_USAGE = "usage: checkpoint.py save|restart|dump|restore JOB SID TASK PATH [CRIU]\n"
_POLL_S = 0.2
_TRIES = 50
_YOUNG_S = 11.0
"""A MoM takes no job for ended that has run for less."""


def main(arguments: list[str]) -> int:
    """Do what the MoM's line says; the exit status."""
    if len(arguments) not in (5, 6) or arguments[0] not in ("save", "restart", "dump", "restore"):
        sys.stderr.write(_USAGE)
        return 2
    what, job_id, sid, _task, path = arguments[:5]
    # A MoM has closed these, and whatever is opened next would be taken for them.
    while os.open(os.devnull, os.O_RDWR) < 2:
        pass
    os.umask(0o077)
    # Of a task that has ended the MoM says its session's number with a minus.
    session, image, criu = abs(int(sid)), Path(path), arguments[5] if len(arguments) == 6 else "criu"
    mom_priv = find_mom_priv(image)
    if what == "save":
        return save(job_id, session, image, mom_priv)
    if what == "dump":
        return dump(job_id, session, image, mom_priv, criu)
    try:
        failed = restart(job_id, session, image, mom_priv) if what == "restart" else restore(session, image, criu)
    except (OSError, ValueError, KeyError) as error:
        failed = complain(f"{job_id}: {error}")
    if not failed:
        # The task runs: whatever goes wrong from here on must not have the MoM take it for one that does not.
        with contextlib.suppress(OSError):
            note_of(job_id, session, mom_priv).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (mom_priv / f"{RESTARTED}{job_id}").touch(0o600)
        with contextlib.suppress(OSError, ValueError):
            tell_the_end(session, mom_priv)
    return failed


def find_mom_priv(path: Path) -> Path:
    """The MoM's own folder. What is saved may be elsewhere (``$checkpoint_path``), but a MoM says where the job's file
    of hosts is, ``PBS_HOME/aux/JOB``."""
    hosts = os.environ.get("PBS_NODEFILE", "")
    return (Path(hosts).parents[1] if hosts else path.parents[2]) / "mom_priv"


def note_of(job_id: str, sid: int, mom_priv: Path) -> Path:
    """Where it is noted that a task is saved: each task is saved, and restarted, by itself."""
    return mom_priv / f"{SAVED}{job_id}.{sid}"


def note_saved(job_id: str, sid: int, mom_priv: Path) -> None:
    """Note that the task is saved and has to be restarted. PBS takes a job of which one could not be, for whatever
    reason, for one that has ended well: by the note, which goes when the task runs again, the epilogue hook knows
    better. The session tells it from a later run that began anew. PBS knows a job by its first task's, so a note also
    says which of the job's were there before. Where the disk is full, nothing is noted."""
    note = note_of(job_id, sid, mom_priv)
    with contextlib.suppress(OSError):
        others = [path.name for path in mom_priv.iterdir() if path.name.rpartition(".")[0] == f"{SAVED}{job_id}"]
        descriptor = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(" ".join(name.rpartition(".")[2] for name in others))
            file.flush()
            os.fsync(descriptor)


def complain(what: str) -> int:
    """Say in the system's log what went wrong, since a MoM notes only the exit status, which is this."""
    syslog.openlog("pbsteer-checkpoint", syslog.LOG_PID, syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_ERR, what)
    return 1


def tell_the_end(sid: int, mom_priv: Path) -> None:
    """Leave a process that has the MoM look when the task has ended, which is no child of the MoM's any more."""
    began = time.monotonic()
    task, mom = os.pidfd_open(sid), os.pidfd_open(int((mom_priv / "mom.lock").read_text(encoding="ascii")))
    if os.fork():
        return
    try:
        os.setsid()
        os.chdir("/")
        select.select([task, mom], [], [])
        time.sleep(max(0.0, began + _YOUNG_S - time.monotonic()))
        signal.pidfd_send_signal(mom, signal.SIGCHLD)
    finally:
        os._exit(0)


def save(job_id: str, sid: int, path: Path, mom_priv: Path) -> int:
    """Ask the session's processes to save and to end. 0 once they have, 1 if they have not in time."""
    asked = [pid for pid in find_session(sid) if not (pid == sid and is_login_shell(pid))]
    if not asked:
        return 1
    write_down(sid, path)
    for pid in asked:
        send(pid, SIGNAL)
    deadline = time.monotonic() + WAIT_S
    while any(is_alive(pid) for pid in asked):
        if time.monotonic() > deadline:
            return 1
        time.sleep(_POLL_S)
    note_saved(job_id, sid, mom_priv)
    for pid in find_session(sid):
        send(pid, signal.SIGKILL)
    return 0


def restart(job_id: str, sid: int, path: Path, mom_priv: Path) -> int:
    """Start the task again in a session of the old number. 0 once it runs, 1 where that cannot be."""
    told = json.loads(path.read_text(encoding="ascii"))
    readable, writable = os.pipe2(os.O_CLOEXEC)
    for _ in range(_TRIES):
        # The kernel gives the next process the number after this one, if no other process is faster.
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(sid - 1), encoding="ascii")
        pid = os.fork()
        if pid == 0:
            os.close(readable)
            if os.getpid() == sid:
                _become(job_id, told, mom_priv, writable)
            os._exit(1)
        if pid == sid:
            os.close(writable)
            # Closed without a word by the command when it begins.
            return 1 if os.read(readable, 1) else 0
        os.waitpid(pid, 0)
        time.sleep(_POLL_S)
    return 1


def _become(job_id: str, told: dict[str, Any], mom_priv: Path, writable: int) -> None:
    """Be the task, in a session of its own. Says so through the pipe where that cannot be."""
    script = os.getppid()
    try:
        os.setsid()
        # A MoM ignores or blocks signals that the job must be able to trap.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        user = pwd.getpwuid(int(os.environ["UID"]))
        os.initgroups(user.pw_name, int(os.environ["GID"]))
        os.setgid(int(os.environ["GID"]))
        os.setuid(user.pw_uid)
        # From here on with the user's own rights.
        os.chdir(told["folder"])
        for descriptor, name in ((0, os.devnull), (1, told["out"]), (2, told["err"])):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT if descriptor else os.O_RDONLY
            opened = os.open(name, flags, 0o600)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
        environment = dict(entry.partition("=")[::2] for entry in told["environment"] if "=" in entry)
        argv = told["command"] or [str(mom_priv / "jobs" / f"{job_id}.SC")]
        if os.getppid() != script:
            # The MoM had no patience with a folder that kept us waiting, and the job is queued again.
            return
        try:
            os.execvpe(argv[0], argv, environment)  # noqa: S606 - a program and its arguments, with the user's rights
        except OSError:
            shell = user.pw_shell or "/bin/sh"
            os.execvpe(shell, [shell, *argv], environment)  # noqa: S606 - as above, for a script without a first line
    finally:
        os.write(writable, b"!")


def dump(job_id: str, sid: int, path: Path, mom_priv: Path, criu: str) -> int:
    """Have CRIU write the session to a folder, then end it. 0 once that is done, 1 if the processes run on."""
    program = shutil.which(criu, path=_PATH)
    if program is None:
        return complain(f"there is no {criu}: the job is not saved")
    outside = find_outside(sid, int(os.environ["UID"]))
    if outside:
        return complain(f"session {sid}: process {outside[0]} is not the user's or not below it: the job is not saved")
    path.mkdir(0o700)
    note = note_of(job_id, sid, mom_priv)
    over = watch_over(lambda: let_go_on(sid, note))
    # Stopped, not ended: should the MoM have no patience and end this script, the job must not look as if it were done.
    if run_criu(program, "dump", path, over, "--tree", str(sid), "--leave-stopped"):
        shutil.rmtree(path)
        return 1
    note_saved(job_id, sid, mom_priv)
    for pid in find_session(sid):
        send(pid, signal.SIGKILL)
    # What has been killed is still there while the kernel takes back its memory.
    say_done(over)
    return 0


def let_go_on(sid: int, note: Path) -> None:
    """Have a session go on that CRIU has stopped: nobody else would, and the job would stand still to its walltime."""
    left = find_session(sid)
    if left:
        note.unlink(missing_ok=True)
    for pid in left:
        send(pid, signal.SIGCONT)


def watch_over(otherwise: Callable[[], None]) -> int:
    """Leave a process that does what is to be done should this script and CRIU be gone without a word, as where a MoM
    ended the script, and only the script. Whoever it waits for keeps the descriptor that is returned."""
    readable, writable = os.pipe()
    if not os.fork():
        try:
            os.setsid()
            os.close(writable)
            if not os.read(readable, 1):
                otherwise()
        finally:
            os._exit(0)
    os.close(readable)
    return writable


def say_done(over: int) -> None:
    """Have the process that watches over this script do nothing any more."""
    with contextlib.suppress(OSError):
        os.write(over, b"!")


def restore(sid: int, path: Path, criu: str) -> int:
    """Have CRIU bring the session back from its folder. 0 once it runs, 1 where that cannot be; then none of it runs,
    since the job is queued again."""
    program, uid = shutil.which(criu, path=_PATH), int(os.environ["UID"])
    if program is None:
        return complain(f"there is no {criu}: the job cannot go on")
    numbers = [int(core.stem.partition("-")[2]) for core in path.glob("core-*.img")]
    for _ in range(_TRIES):
        taken = [number for number in numbers if Path(f"/proc/{number}").exists()]
        if not taken:
            break
        time.sleep(_POLL_S)
    else:
        return complain(f"session {sid}: another process has the number {taken[0]}: the job cannot go on")
    over = watch_over(lambda: end_session(sid, uid))
    if run_criu(program, "restore", path, over, "--restore-detached") or not is_alive(sid):
        return 1
    say_done(over)
    return 0


def end_session(sid: int, uid: int) -> None:
    """End what there is of the user's session."""
    for pid in find_session(sid):
        if _read_users(pid) == {uid}:
            send(pid, signal.SIGKILL)


def run_criu(program: str, what: str, path: Path, over: int, *options: str) -> int:
    """Run CRIU on a folder of images. 0 if it did what it should, else 1, with its last words in the system's log. It
    keeps the descriptor ``over`` to its end."""
    log = path / f"{what}.log"
    # The job's control groups are the MoM's to make.
    argv = [program, what, "--images-dir", str(path), "--log-file", log.name, "--manage-cgroups=ignore", *options]
    done = subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, env={"PATH": _PATH}, pass_fds=(over,))
    if not done.returncode:
        return 0
    said = [line for line in log.read_text(errors="replace").splitlines() if "Error" in line] if log.exists() else []
    return complain(f"{program} {what} ended with {done.returncode}: {' / '.join(said[-3:])}")


def find_outside(sid: int, uid: int) -> list[int]:
    """The processes of a session that CRIU would leave out, since they are not below its first one, and those that run
    with anybody else's rights, which nobody but they themselves should bring back."""
    found = []
    for pid in find_session(sid):
        line = [pid]
        while line[-1] > 1 and line[-1] != sid:
            line.append(int(_read_stat(line[-1])[2] or 0))
        if (line[-1] != sid or _read_users(pid) != {uid}) and is_alive(pid):
            found.append(pid)
    return found


def write_down(sid: int, path: Path) -> None:
    """Note what the task was: its command, none where a login shell runs the job's script, and what it started with."""
    proc = Path(f"/proc/{sid}")
    command = [] if is_login_shell(sid) else _strings(proc / "cmdline")
    told = {
        "command": command,
        "environment": _strings(proc / "environ"),
        "folder": str((proc / "cwd").readlink()),
        "out": str((proc / "fd" / "1").readlink()),
        "err": str((proc / "fd" / "2").readlink()),
    }
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(told, file)
        file.flush()
        os.fsync(descriptor)
    fresh.replace(path)


def find_session(sid: int) -> list[int]:
    """The processes of a session that have not ended."""
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in numbers if _read_stat(pid)[1] == str(sid) and is_alive(pid)]


def is_alive(pid: int) -> bool:
    """Whether the process is there and has not ended."""
    return _read_stat(pid)[0] not in ("", "Z", "X")


def is_login_shell(pid: int) -> bool:
    """Whether it is the shell in which PBS runs a job's script, which would die of the signal."""
    return (_strings(Path(f"/proc/{pid}/cmdline")) or [""])[0].startswith("-")


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may have gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _read_stat(pid: int) -> list[str]:
    """A process's state, session and parent; all empty for one that is gone. (A command's name may hold anything.)"""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return ["", "", ""]
    return [words[0], words[3], words[1]]


def _read_users(pid: int) -> set[int]:
    """Whose rights a process has, in any of its four user numbers."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="latin-1").splitlines()
    except OSError:
        return set()
    return {int(word) for line in lines if line.startswith("Uid:") for word in line.split()[1:]}


def _strings(path: Path) -> list[str]:
    """The NUL-terminated strings of a file of a process."""
    return [os.fsdecode(text) for text in path.read_bytes().split(b"\0")[:-1]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
