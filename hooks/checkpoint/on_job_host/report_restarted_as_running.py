"""Finds the jobs that were restarted from a checkpoint, so that the MoM reports them as running.

The server keeps a job restarted from a checkpoint in substate 41, and checkpoints it no second time, until its MoM
reports another session than before. Hooks may set what a MoM reports, so the session number is sent with the opposite
sign; the MoM itself writes the sessions of ended tasks in that form.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

RESTARTED = "pbsteer-restarted-"
"""Prefix of notes in a MoM's ``mom_priv``, followed by a job's id: our script has restarted the job."""

_TWICE = " twice"
"""Follows the session in a note once the MoM had reported another one before."""


def find_restarted(pbs_home: str) -> dict[str, Path]:
    """The notes of restarted jobs, by job."""
    return {path.name[len(RESTARTED) :]: path for path in (Path(pbs_home) / "mom_priv").glob(f"{RESTARTED}*")}


def report(job: Any, note: Path) -> None:
    """Have the MoM report another session of an event's job than before, twice.

    PBS drops what a run of a hook sets that is cut off, and the server a report that comes before the MoM's answer that
    the job runs. So a later run, which finds that the MoM has that session, changes it once more, and the next one
    deletes the note.
    """
    session = int(job.session_id)
    noted = note.read_text(encoding="ascii", errors="replace")
    if noted == f"{session}{_TWICE}":
        note.unlink()
        return
    job.session_id = -session
    note.write_text(f"{-session}{_TWICE}" if noted == str(session) else str(-session), encoding="ascii")
