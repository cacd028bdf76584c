"""Whether a job's host need ask the server at all when the job has ended: could it have been asked to save?

A host knows the job's own wish, and the set method; what a queue's ``resources_available`` says the runjob hook writes
on the job as it starts. So a job that is neither one to be asked, nor ends as one would that was, has ended: nobody is
asked anything. Each end of each job loads this, in a process of its own, so it needs next to nothing.
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
"""The methods by which work is saved."""

SAVED = "pbsteer-saved-"
"""In a MoM's ``mom_priv``, with a job's id and the session of one of its tasks: that our script has saved this one and
not yet restarted it. In it are the sessions of the job's that were noted before."""

SAVING_NOTE = "pbsteer-saving-"
"""The same of a task that is being saved, or was when a MoM ended the script: it counts for nothing."""

_BY_SIGNAL = (256, 128)
"""What PBS, and a shell, add to the number of the signal that killed a job."""

_KILLED = frozenset(base + number for base in _BY_SIGNAL for number in (signal.SIGTERM, signal.SIGKILL))


def may_be_run_again(exit_status: int) -> bool:
    """Whether a job with this exit status may have ended as it was asked to: not killed, nor ended by PBS itself."""
    return exit_status >= 0 and exit_status not in _KILLED


def could_be_asked(job: Any, method: str) -> bool:
    """Whether an event's job could have been asked to save, as far as its host knows: by its own wish, else by the set
    ``method``."""
    return (read_wish(job) or method) in SAVING


def read_wish(job: Any) -> str:
    """How an event's job wishes to be asked; empty where it does not say, or says nonsense."""
    try:
        wished = str(job.Resource_List[SAVE] or "")
    except Exception:  # noqa: BLE001 - how PBS says that it does not know a resource differs by version
        wished = ""
    return wished if wished in SAVE_METHODS else ""


def may_have_been_asked(job: Any, exit_status: int, config: str | None) -> bool:
    """Whether the server has to be asked about this end. ``config`` is the file of the hook's settings, read for two
    words and not checked: where it cannot be read as it should be, the server is asked.

    One that says nothing itself, and ends with the status of saved work or by a signal, is asked about too: it may have
    been asked by a method that was set a moment ago, and of which this host does not know yet.
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
    """Whether a job is to be taken for one that saved as it was asked to, where nobody can tell whether it was asked,
    as where an error of ours keeps the server from being asked: it could have been, and ends with the exit status."""
    method, saved_status = read_saving(config) or (REQUEUE, SAVED_STATUS)
    return exit_status == saved_status and could_be_asked(job, method)


def read_saving(config: str | None) -> tuple[str, int] | None:
    """The set method and exit status in the file of the hook's settings, unchecked; None where it cannot be read."""
    try:
        settings = json.loads(Path(config).read_text(encoding="utf-8")) if config else {}
        checkpoint = settings.get("checkpoint", {})
        return checkpoint.get("method", REQUEUE), checkpoint.get("exit_status", SAVED_STATUS)
    except (OSError, ValueError, AttributeError):
        return None


def find_untold(wish: str, of_queue: str, method: str) -> str:
    """The method that a start has to write on the job, as its host could not know it: what its queue says, where the
    job and the settings (``method``) do not have it asked. Empty where there is nothing to tell."""
    return of_queue if of_queue in SAVING and not wish and method not in SAVING else ""


def has_failed_restart(pbs_home: str, job: Any, exit_status: int) -> bool:
    """Whether the end of an event's job is that of a restart that failed, or never was, which PBS would take for a good
    one. It is forgotten by asking.

    The end that saving itself makes has an exit status of PBS's own; and a later run, which began anew, has another
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
    """The notes of tasks that were saved, or those of another ``prefix``, by job."""
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
