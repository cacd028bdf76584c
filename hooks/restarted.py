"""Jobs that were restarted from a checkpoint, and what has PBS know that they run.

For the server such a job goes on being about to run, and is checkpointed no second time, until its MoM reports another
session than before. What a MoM reports, its hooks may set; so the number goes out with the other sign, which is how the
MoM itself writes down the sessions of tasks that have ended.
"""

from __future__ import annotations

from pathlib import Path

RESTARTED = "pbsteer-restarted-"
"""In a MoM's ``mom_priv``, with a job's id: that our script started it again from what was saved."""


def find_restarted(pbs_home: str) -> dict[str, Path]:
    """The notes of jobs that were restarted, by job. A note is to be taken away once its job is told."""
    return {path.name[len(RESTARTED) :]: path for path in (Path(pbs_home) / "mom_priv").glob(f"{RESTARTED}*")}
