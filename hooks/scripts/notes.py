"""What the checkpoint script notes in a MoM's own folder for the hooks: which tasks are saved, and which run again.

PBS takes a job that could not be restarted, for whatever reason, for one that has ended well. By the note, which goes
when the task runs again, the epilogue hook knows better; and without one nothing is restarted.
"""

from __future__ import annotations

import os
from pathlib import Path

SAVED = "pbsteer-saved-"
SAVING = "pbsteer-saving-"
RESTARTED = "pbsteer-restarted-"


def find_mom_priv(path: Path) -> Path:
    """The MoM's own folder. What is saved may be elsewhere (``$checkpoint_path``), but a MoM says where the job's file
    of hosts is, ``PBS_HOME/aux/JOB``."""
    hosts = os.environ.get("PBS_NODEFILE", "")
    return (Path(hosts).parents[1] if hosts else path.parents[2]) / "mom_priv"


def note_of(job_id: str, sid: int, mom_priv: Path) -> Path:
    """Where it is noted that a task is saved: each task is saved, and restarted, by itself. The session tells it from
    a later run that began anew."""
    return mom_priv / f"{SAVED}{job_id}.{sid}"


def begin_note(job_id: str, sid: int, mom_priv: Path) -> Path:
    """Write the note under a name that counts for nothing yet, before anything is asked of the job: from then on only
    the name has to change. PBS knows a job by its first task's session, so a note also has the sessions of the job's
    that were noted before. Raises OSError where it cannot be written; then the job must be left as it is."""
    others = [path.name for path in mom_priv.iterdir() if path.name.rpartition(".")[0] == f"{SAVED}{job_id}"]
    fresh = mom_priv / f"{SAVING}{job_id}.{sid}"
    write_whole(fresh, " ".join(name.rpartition(".")[2] for name in others))
    return fresh


def note_saved(job_id: str, sid: int, mom_priv: Path) -> None:
    """Note that the task is saved, and has to be restarted."""
    (mom_priv / f"{SAVING}{job_id}.{sid}").replace(note_of(job_id, sid, mom_priv))


def hidden_beside(path: Path) -> Path:
    """Where to put a task together that is not saved yet. A MoM whose script failed restarts the tasks that have a file
    in the job's folder, and takes ``00000001.new`` for one; names with a dot in front it leaves out (OpenPBS 23.06)."""
    return path.with_name(f".{path.name}")


def write_whole(path: Path, text: str) -> None:
    """Write a file that only root can read, and have it on the disk."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
