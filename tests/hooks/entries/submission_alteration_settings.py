"""Settings, summaries and events for hooks at a submission and an alteration."""

from __future__ import annotations

from typing import Any

from tests.hooks.run_bundled_hook import SUMMARY_DATA

HALF = {"backfill": {"kind": "checkpoint", "shrink_factor": 0.5}, "checkpoint": {"saves": True}}


COSTLY = "+".join(f"1:ncpus=0:mem={n + 1}kb" for n in range(257))
IN_ADVISE_TOO = {"submission": {"refuse_impossible": "advise"}}


STRIPED = {
    "select": "2:ncpus=2:mpiprocs=2:ompthreads=1",
    "place": "scatter",
    "pbsteer_asked": "1:ncpus=4:mpiprocs=4",
}


MODES = ("observe", "advise", "drive")


def summary_of(mode: str) -> dict[str, Any]:
    workq = {**SUMMARY_DATA["queues"]["workq"], "mode": mode}  # type: ignore[index]
    return {**SUMMARY_DATA, "queues": {"workq": workq}}


def alter(before: dict[str, str], changes: dict[str, str], state: int = 1, **more: Any) -> dict[str, Any]:
    job_o = {"queue": "workq", "job_state": state, "euser": "alice", "Rerunable": 1, "Resource_List": before}
    return {"Resource_List": changes, "job_o": job_o, **more}
