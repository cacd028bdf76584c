"""Marks restarted jobs as running (PBS leaves them in substate 41) and finds notes of jobs that no longer exist.

The server keeps a job restarted from a checkpoint in substate 41, and checkpoints it no second time, until its MoM
reports another session than before. Hooks may set what a MoM reports, so the session number is sent with the opposite
sign; the MoM itself writes the sessions of ended tasks in that form. A job that is deleted while held ends without a
hook on its host, so its notes are found because no such job exists any more.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from hooks.checkpoint.method import SAVED, SAVING_NOTE, find_saved

RESTARTED = "pbsteer-restarted-"
"""Prefix of notes in a MoM's ``mom_priv``, followed by a job's id: our script has restarted the job."""


def find_restarted(pbs_home: str) -> dict[str, Path]:
    """The notes of restarted jobs, by job. Delete a note once its job is reported."""
    return {path.name[len(RESTARTED) :]: path for path in (Path(pbs_home) / "mom_priv").glob(f"{RESTARTED}*")}


def find_left(pbs_home: str, jobs: Container[str]) -> list[Path]:
    """The notes of saved tasks whose job is gone: it is not among the MoM's ``jobs``, and the MoM has no job file of it
    (it keeps one of a held job)."""
    files = Path(pbs_home) / "mom_priv" / "jobs"
    return [
        note
        for prefix in (SAVED, SAVING_NOTE)
        for job_id, notes in find_saved(pbs_home, prefix).items()
        if job_id not in jobs and not (files / f"{job_id}.JB").exists()
        for note in notes
    ]
