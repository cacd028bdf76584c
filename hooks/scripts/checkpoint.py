"""The script behind a MoM's ``checkpoint_abort`` and ``restart`` actions: saves and restarts tasks by signal or CRIU.

``save``, ``restart``, ``dump`` or ``restore``, each with ``JOB SID TASK PATH`` (README.md). It runs as root: it uses
what a user's process could have influenced only after dropping root's rights.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from pathlib import Path

from hooks.scripts.criu import dump, restore
from hooks.scripts.harden_root_script import bound_memory, close_inherited, complain, refuse_to_run
from hooks.scripts.save_by_signal_and_restart import restart, save
from hooks.scripts.write_saved_task_notes import RESTARTED, find_mom_priv, note_of, write_whole

_USAGE = "usage: pbs_python -I checkpoint.py save|restart|dump|restore JOB SID TASK PATH [CRIU]\n"
_YOUNG_S = 11.0
"""Seconds: a MoM does not treat a job that has run for less as ended."""


def main(arguments: list[str]) -> int:
    """Carry out the MoM's command line as far as root may, and return the exit status."""
    close_inherited()
    refusal = refuse_to_run(__file__)
    if refusal:
        return complain(refusal)
    if len(arguments) not in (5, 6) or arguments[0] not in ("save", "restart", "dump", "restore"):
        sys.stderr.write(_USAGE)
        return 2
    bound_memory()
    os.umask(0o077)
    try:
        return act(arguments)
    except (OSError, ValueError, KeyError, MemoryError) as error:
        return complain(f"{arguments[1]}: {error!r}: nothing was done")


def act(arguments: list[str]) -> int:
    """Save a task or have it run again, and return the exit status."""
    what, job_id, sid, _task, path = arguments[:5]
    # The MoM writes the session of a task that has ended with a minus.
    session, image, criu = abs(int(sid)), Path(path), arguments[5] if len(arguments) == 6 else "criu"
    mom_priv = find_mom_priv(image)
    if what == "save":
        return save(job_id, session, image, mom_priv)
    if what == "dump":
        return dump(job_id, session, image, mom_priv, criu)
    if not note_of(job_id, session, mom_priv).exists():
        return complain(f"{job_id}: session {session} is not noted as saved, so nothing is restarted")
    try:
        failed = restart(job_id, session, image, mom_priv) if what == "restart" else restore(session, image, criu)
    except (OSError, ValueError, KeyError, MemoryError) as error:
        failed = complain(f"{job_id}: {error}")
    if not failed:
        # The task runs: no error from here on may make the MoM believe that it does not.
        with contextlib.suppress(OSError):
            note_of(job_id, session, mom_priv).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            # Written anew: an older one may say that this job was reported.
            write_whole(mom_priv / f"{RESTARTED}{job_id}", "")
        with contextlib.suppress(OSError, ValueError):
            report_the_end(session, mom_priv)
    return failed


def report_the_end(sid: int, mom_priv: Path) -> None:
    """Leave a process behind that notifies the MoM when the task has ended: the task is no longer the MoM's child."""
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
