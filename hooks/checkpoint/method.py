"""Decides on the host, without a server round trip, whether an ended job could have been asked to save.

A host knows the job's own method and the one of the settings; the runjob hook writes a queue's method on the job as it
starts. A job that neither could have been asked nor ended like one that was has ended for good, without a request to
the server. This is loaded in an own process at each job's end, so it imports next to nothing.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from hooks.pbs.resources import SAVE
from policy.model.preferences import SAVE_METHODS, SAVED_STATUS

REQUEUE, SIGNAL, CHECKPOINT = SAVE_METHODS
SAVING = (SIGNAL, CHECKPOINT)
"""The methods that save work."""

SAVED = "pbsteer-saved-"
"""Prefix of notes in a MoM's ``mom_priv``, followed by a job's id and the session of one of its tasks: our script has
saved this task and not yet restarted it. The file lists the job's sessions that were noted before."""

SAVING_NOTE = "pbsteer-saving-"
"""The same for a task that is being saved, or was when a MoM ended the script: it does not count as saved."""

_BY_SIGNAL = (256, 128)
"""What PBS, and a shell, add to the number of the signal that killed a job."""

_KILLED = frozenset(base + number for base in _BY_SIGNAL for number in (signal.SIGTERM, signal.SIGKILL))


def may_be_run_again(exit_status: int) -> bool:
    """Whether the exit status allows a requeue: the job was not killed, and not ended by PBS itself."""
    return exit_status >= 0 and exit_status not in _KILLED


def could_be_asked(job: Any, method: str) -> bool:
    """Whether an event's job could have been asked to save, as far as its host knows: by its own method, else by
    ``method`` of the settings."""
    return (read_wish(job) or method) in SAVING


def read_wish(job: Any) -> str:
    """The method that an event's job requests; empty if it has none or an unknown one."""
    try:
        wished = str(job.Resource_List[SAVE] or "")
    except Exception:  # noqa: BLE001 - how PBS says that it does not know a resource differs by version
        wished = ""
    return wished if wished in SAVE_METHODS else ""


def may_have_been_asked(job: Any, exit_status: int, config: str | None) -> bool:
    """Whether the server has to be queried about this end. ``config`` is the file of the hook's settings; two values
    are read and not checked. If it cannot be read, the server is queried.

    A job without a method of its own that ends with the exit status of saved work, or by a signal, also needs the
    query: it may have been asked by a method that was set a moment ago and has not reached this host.
    """
    wish = read_wish(job)
    if wish:
        return wish in SAVING
    saving = read_saving(config)
    if saving is None:
        return True
    method, saved_status = saving
    return method != REQUEUE or exit_status == saved_status or exit_status > min(_BY_SIGNAL)


def says_saved(job: Any, exit_status: int, config: str | None) -> bool:
    """Whether a job counts as saved on request if the server cannot be queried, for example after an error of ours: it
    could have been asked, and ends with the exit status of saved work."""
    method, saved_status = read_saving(config) or (REQUEUE, SAVED_STATUS)
    return exit_status == saved_status and could_be_asked(job, method)


def read_saving(config: str | None) -> tuple[str, int] | None:
    """Method and exit status from the file of the hook's settings, unchecked; None if it cannot be read."""
    try:
        settings = json.loads(Path(config).read_text(encoding="utf-8")) if config else {}
        checkpoint = settings.get("checkpoint", {})
        return checkpoint.get("method", REQUEUE), checkpoint.get("exit_status", SAVED_STATUS)
    except (OSError, ValueError, AttributeError):
        return None


def find_untold(wish: str, of_queue: str, method: str) -> str:
    """The method that a start has to write on the job because its host could not know it: the queue's, if that saves
    and neither the job nor the settings (``method``) ask for saving. Empty if there is nothing to write."""
    return of_queue if of_queue in SAVING and not wish and method not in SAVING else ""


def has_failed_restart(pbs_home: str, job: Any, exit_status: int) -> bool:
    """Whether the end of an event's job is a restart that failed or never began, which PBS would report as a good end.
    The call deletes the job's notes.

    The end caused by saving has an exit status of PBS's own (negative), and a later run from the beginning has another
    session than any that was saved.
    """
    if exit_status < 0:
        return False
    saved: set[str] = set()
    for note in find_saved(pbs_home).get(str(job.id), []):
        saved.add(note.name.rpartition(".")[2])
        try:
            saved.update(note.read_text(encoding="ascii").split())
            note.unlink()
        except (OSError, ValueError):
            continue
    return bool(saved) and (not job.session_id or str(job.session_id).lstrip("-") in saved)


def find_saved(pbs_home: str, prefix: str = SAVED) -> dict[str, list[Path]]:
    """The notes of saved tasks, or those with another ``prefix``, by job."""
    found: dict[str, list[Path]] = {}
    try:
        paths = sorted((Path(pbs_home) / "mom_priv").iterdir())
    except OSError:
        return {}
    for path in paths:
        job_id, _, session = path.name.rpartition(".")
        if job_id.startswith(prefix) and session.isdigit():
            found.setdefault(job_id[len(prefix) :], []).append(path)
    return found
