"""Notes in a MoM's ``mom_priv`` of tasks that PBS's own checkpoint has saved: one file for each task.

The checkpoint script writes and deletes them, so a job that ends while it still has one was never restarted. A job that
is deleted while held ends without a hook on its host: its notes are found because no such job exists any more.
"""

from __future__ import annotations

import os

# Not imported: typing takes longer to load than this module and all that it needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path
    from typing import Any

SAVED = "pbsteer-saved-"
"""Prefix of notes in a MoM's ``mom_priv``, followed by a job's id and the session of one of its tasks: our script has
saved this task and not yet restarted it. The file lists the job's sessions that were noted before."""

SAVING_NOTE = "pbsteer-saving-"
"""The same for a task that is being saved, or was when a MoM ended the script: it does not count as saved."""


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
    folder = os.path.join(pbs_home, "mom_priv")  # noqa: PTH118 - as a rule there is no note, and no path to make
    try:
        names = sorted(name for name in os.listdir(folder) if name.startswith(prefix))  # noqa: PTH208 - the same
    except OSError:
        return {}
    if not names:
        return {}
    from pathlib import Path  # noqa: PLC0415 - as above

    found: dict[str, list[Path]] = {}
    for name in names:
        job_id, _, session = name.rpartition(".")
        if session.isdigit():
            found.setdefault(job_id[len(prefix) :], []).append(Path(folder, name))
    return found


def find_left(pbs_home: str, jobs: Container[str]) -> list[Path]:
    """The notes of saved tasks whose job is gone."""
    return [
        note
        for prefix in (SAVED, SAVING_NOTE)
        for job_id, notes in find_saved(pbs_home, prefix).items()
        if is_gone(pbs_home, job_id, jobs)
        for note in notes
    ]


def is_gone(pbs_home: str, job_id: str, jobs: Container[str]) -> bool:
    """Whether a job is not among the MoM's ``jobs``, and the MoM has no job file of it (it keeps one of a held job).
    Raises OSError where that cannot be found out: then no note is deleted."""
    if job_id in jobs:
        return False
    try:
        os.stat(os.path.join(pbs_home, "mom_priv", "jobs", f"{job_id}.JB"))  # noqa: PTH116, PTH118 - as above
    except (FileNotFoundError, NotADirectoryError):
        return True
    return False
