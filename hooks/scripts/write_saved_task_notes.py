"""The notes that the checkpoint script leaves for the hooks in ``mom_priv``: which tasks are saved, which run again.

PBS reports a job that could not be restarted as one that ended well. The note, which is deleted when the task runs
again, shows the epilogue hook that it was not restarted.
"""

from __future__ import annotations

import os
from pathlib import Path

SAVED = "pbsteer-saved-"
SAVING = "pbsteer-saving-"
RESTARTED = "pbsteer-restarted-"


def find_mom_priv(path: Path) -> Path:
    """The MoM's ``mom_priv``. The saved files may be elsewhere (``$checkpoint_path``), but the MoM passes the path of
    the job's node file, ``PBS_HOME/aux/JOB``."""
    hosts = os.environ.get("PBS_NODEFILE", "")
    return (Path(hosts).parents[1] if hosts else path.parents[2]) / "mom_priv"


def note_of(job_id: str, sid: int, mom_priv: Path) -> Path:
    """The path of the note of a saved task: each task is saved and restarted by itself. The session distinguishes it
    from a later run that began anew."""
    return mom_priv / f"{SAVED}{job_id}.{sid}"


def begin_note(job_id: str, sid: int, mom_priv: Path) -> Path:
    """Write the note under a name that does not count yet, before the job is signalled: later only a rename can fail.

    PBS identifies a job by its first task's session, so the note also lists the job's sessions that were noted before.
    Raises OSError if it cannot be written; then the job must be left as it is.
    """
    others = [path.name for path in mom_priv.iterdir() if path.name.rpartition(".")[0] == f"{SAVED}{job_id}"]
    fresh = mom_priv / f"{SAVING}{job_id}.{sid}"
    write_whole(fresh, " ".join(name.rpartition(".")[2] for name in others))
    return fresh


def note_saved(job_id: str, sid: int, mom_priv: Path) -> None:
    """Note that the task is saved, and has to be restarted."""
    (mom_priv / f"{SAVING}{job_id}.{sid}").replace(note_of(job_id, sid, mom_priv))


def hidden_beside(path: Path) -> Path:
    """The path under which an unfinished save is put together. A MoM whose script failed restarts the tasks that have a
    file in the job's folder, even ``00000001.new``; it skips names that begin with a dot (OpenPBS 23.06)."""
    return path.with_name(f".{path.name}")


def write_whole(path: Path, text: str) -> None:
    """Write a file that only root can read, and sync it to the disk."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
