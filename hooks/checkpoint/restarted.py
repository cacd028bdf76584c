"""Jobs that were restarted from a checkpoint, and what has PBS know that they run; and those that never will be.

For the server such a job goes on being about to run, and is checkpointed no second time, until its MoM reports another
session than before. What a MoM reports, its hooks may set; so the number goes out with the other sign, which is how the
MoM itself writes down the sessions of tasks that have ended.

The end of a job that is deleted while it is held runs no hook on its host: what was noted of it is found by there being
no such job any more.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from hooks.checkpoint.method import SAVED, SAVING_NOTE, find_saved

RESTARTED = "pbsteer-restarted-"
"""In a MoM's ``mom_priv``, with a job's id: that our script started it again from what was saved."""


def find_restarted(pbs_home: str) -> dict[str, Path]:
    """The notes of jobs that were restarted, by job. A note is to be taken away once its job is told."""
    return {path.name[len(RESTARTED) :]: path for path in (Path(pbs_home) / "mom_priv").glob(f"{RESTARTED}*")}


def find_left(pbs_home: str, jobs: Container[str]) -> list[Path]:
    """The notes of saved tasks whose job is gone: neither among the MoM's, ``jobs``, nor has it a file of it, as it has
    of a held one."""
    files = Path(pbs_home) / "mom_priv" / "jobs"
    return [
        note
        for prefix in (SAVED, SAVING_NOTE)
        for job_id, notes in find_saved(pbs_home, prefix).items()
        if job_id not in jobs and not (files / f"{job_id}.JB").exists()
        for note in notes
    ]
