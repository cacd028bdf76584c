"""Saves a task that cannot save itself: CRIU dumps its processes as they are, and restores them.

CRIU opens files that the images name, and the job's user may exchange these meanwhile. So CRIU runs as that user, with
one more capability, CAP_CHECKPOINT_RESTORE, and in the job's own control groups; otherwise it does not run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Callable

from hooks.scripts.harden_root_script import complain, lift_memory_bound
from hooks.scripts.restore_task_limits import join_groups, read_bounds
from hooks.scripts.root_only_path import why_not_root_only
from hooks.scripts.session_processes import (
    POLL_S,
    TRIES,
    is_alive,
    list_session,
    open_session,
    read_stat,
    read_users,
    send,
)
from hooks.scripts.write_saved_task_notes import begin_note, hidden_beside, note_of, note_saved, write_whole

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_IMAGES, _BOUNDS = "images", "bounds"
_CAPABILITY = "cap_40"
"""CAP_CHECKPOINT_RESTORE (Linux 5.9) by its number, which setpriv of any version knows."""
_MOST_LOG = 65536


def dump(job_id: str, sid: int, path: Path, mom_priv: Path, criu: str) -> int:
    """Have CRIU write the session to a folder, then end it. Returns 0 when that is done, 1 if the processes run on."""
    uid, gid = int(os.environ["UID"]), int(os.environ["GID"])
    program, why = find_program(criu)
    if why:
        return complain(f"{why}: the job is not saved")
    outside = find_outside(sid, uid)
    if outside:
        return complain(f"session {sid}: process {outside[0]} is not the user's or not below it: the job is not saved")
    # Root's folder around the user's: only CRIU can reach the images.
    work = hidden_beside(path)
    work.mkdir(0o700)
    fresh = begin_note(job_id, sid, mom_priv)
    note, is_saved = note_of(job_id, sid, mom_priv), False
    try:
        bounds = read_bounds(sid)
        write_whole(work / _BOUNDS, json.dumps(bounds))
        (work / _IMAGES).mkdir(0o700)
        os.chown(work / _IMAGES, uid, gid)
        over = watch_over(lambda: resume_processes(sid, note))
        # Stopped, not ended: if the MoM loses patience and ends this script, the job must not look as if it were done.
        if run_criu(program, "dump", work, bounds, over, "--tree", str(sid), "--leave-stopped"):
            return 1
        note_saved(job_id, sid, mom_priv)
        work.rename(path)
        is_saved = True
    finally:
        fresh.unlink(missing_ok=True)
        if not is_saved:
            shutil.rmtree(work)
    for process in open_session(sid):
        send(process, signal.SIGKILL)
    # Killed processes still exist while the kernel reclaims their memory.
    say_done(over)
    return 0


def restore(sid: int, path: Path, criu: str) -> int:
    """Have CRIU restore the session from its folder. Returns 0 when it runs, else 1; then none of it runs, since the
    job is requeued."""
    uid = int(os.environ["UID"])
    program, why = find_program(criu)
    if why:
        return complain(f"{why}: the job cannot go on")
    bounds = json.loads((path / _BOUNDS).read_text(encoding="ascii"))
    numbers = [int(core.stem.partition("-")[2]) for core in (path / _IMAGES).glob("core-*.img")]
    for _ in range(TRIES):
        taken = [number for number in numbers if Path(f"/proc/{number}").exists()]
        if not taken:
            break
        time.sleep(POLL_S)
    else:
        return complain(f"session {sid}: another process has the number {taken[0]}: the job cannot go on")
    over = watch_over(lambda: end_session(sid, uid))
    if run_criu(program, "restore", path, bounds, over, "--restore-detached") or not is_alive(sid):
        return 1
    say_done(over)
    return 0


def find_program(criu: str) -> tuple[str, str]:
    """CRIU's path and an empty string; or the reason why it must not run."""
    program, setpriv = shutil.which(criu, path=_PATH), shutil.which("setpriv", path=_PATH)
    if program is None:
        return "", f"there is no {criu}"
    if setpriv is None:
        return "", f"there is no setpriv in {_PATH}, by which {criu} runs as the job's user"
    return program, why_not_root_only(Path(program))


def run_criu(program: str, what: str, path: Path, bounds: dict[str, Any], over: int, *options: str) -> int:
    """Run CRIU as the job's user on a folder of images. Returns 0 on success; else 1, with CRIU's last errors in the
    system's log. CRIU keeps the descriptor ``over`` open to its end."""

    def prepare() -> None:
        join_groups(bounds)
        lift_memory_bound()

    images = os.open(path / _IMAGES, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        done = subprocess.run(
            # The MoM makes the job's control groups, not CRIU.
            [*as_user(), program, what, "--unprivileged", "--images-dir", f"/proc/self/fd/{images}",
             "--log-file", f"{what}.log", "--manage-cgroups=ignore", *options],
            check=False, stdin=subprocess.DEVNULL, env={"PATH": _PATH}, cwd="/", pass_fds=(over, images),
            preexec_fn=prepare,
        )  # fmt: skip
        if not done.returncode:
            return 0
        errors = [line for line in _read_log(images, f"{what}.log") if "Error" in line]
    finally:
        os.close(images)
    return complain(f"{program} {what} ended with {done.returncode}: {' / '.join(errors[-3:])}")


def as_user() -> list[str]:
    """The prefix of a command that runs it as the job's user, with CAP_CHECKPOINT_RESTORE as its only capability."""
    uid, gid = os.environ["UID"], os.environ["GID"]
    only = f"-all,+{_CAPABILITY}"
    setpriv = shutil.which("setpriv", path=_PATH) or "setpriv"
    return [setpriv, "--reuid", uid, "--regid", gid, "--init-groups", "--inh-caps", only, "--ambient-caps", only]


def _read_log(images: int, name: str) -> list[str]:
    """The end of a log that CRIU wrote as the user, read as plain file without following links; unprintable characters
    become question marks."""
    try:
        log = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=images)
    except OSError:
        return []
    with os.fdopen(log, "rb") as file:
        file.seek(max(0, os.fstat(log).st_size - _MOST_LOG))
        text = file.read(_MOST_LOG).decode("ascii", "replace")
    return ["".join(char if char.isprintable() else "?" for char in line) for line in text.splitlines()]


def resume_processes(sid: int, note: Path) -> None:
    """Continue a session that CRIU has stopped: otherwise the job would stand still until its walltime."""
    left = open_session(sid)
    if left:
        note.unlink(missing_ok=True)
    for process in left:
        send(process, signal.SIGCONT)


def watch_over(otherwise: Callable[[], None]) -> int:
    """Fork a process that calls ``otherwise`` if this script and CRIU end without :func:`say_done`, as when a MoM ends
    the script, and only the script. The watched processes keep the returned descriptor open."""
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
    """Tell the watching process to do nothing."""
    try:
        os.write(over, b"!")
    except OSError:
        return


def end_session(sid: int, uid: int) -> None:
    """End what is left of the user's session."""
    for process in open_session(sid):
        if read_users(process.pid) == {uid}:
            send(process, signal.SIGKILL)


def find_outside(sid: int, uid: int) -> list[int]:
    """The processes of a session that must not be dumped: those that CRIU would leave out because they are not below
    the session's first process, and those that run with the rights of another user, which must not be restored as this
    one."""
    found = []
    for pid in list_session(sid):
        line = [pid]
        while line[-1] > 1 and line[-1] != sid:
            line.append(int(read_stat(line[-1])[2] or 0))
        if (line[-1] != sid or read_users(pid) != {uid}) and is_alive(pid):
            found.append(pid)
    return found
