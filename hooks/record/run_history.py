"""Runs that have ended between two passes: what the pass before saw running, and the server no longer has.

A predictor and striping learn from them. The server tells nobody of an end, so what ran is written down with each pass
where the settings learn at all; a run that is gone ended about now. Left out is whatever cannot be told so: a job that
waits again, one that was preempted (what its earlier runs had done is not known), and everything after a long pause
between two passes. CPU time stays unknown. A job that somebody deleted counts as one that ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hooks.pbs.job_ids import index_of, parent_of, read_indices
from hooks.pbs.status import Picture
from policy.model.cluster import UNLIMITED_S, Finished
from policy.settings.site_settings import Settings
from policy.state.snapshot import Snapshot
from policy.striping.nodes import StripeNodes, touched
from policy.striping.striping import cut

_LONGEST_PAUSE = 3
"""In intervals: after a longer one it is not known when a run ended."""


def learns(settings: Settings) -> bool:
    """Whether anything is learned from runs that have ended."""
    return settings.backfill.predictor != "none" or settings.stripe.layout == "learn"


def note_runs(snapshot: Snapshot, before: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The runs of this pass as plain data for the next one; ``before`` is what the pass before wrote."""
    known = before.get("runs", {})
    runs: dict[str, list[Any]] = {}
    world = snapshot.world()
    nodes: StripeNodes | None = None
    for run_id, run in world.runs.items():
        job = run.job
        noted = known.get(run_id)
        if noted is not None and noted[3] == run.start_s:
            runs[run_id] = noted
            continue
        width = fewest = 1
        if job.application and settings.stripe.layout == "learn":
            nodes = nodes or StripeNodes(world, {}, settings.stripe, snapshot.time_s)
            width = nodes.count(touched(run.placement, world.capacity.directory))
            fewest = nodes.fewest(cut(job.request) or job.request, world.vnodes_of(job.queue)) or width
        estimate_s = None if job.estimate_s == UNLIMITED_S else job.estimate_s
        wished = job.layout is not None
        runs[run_id] = [job.user, job.application, job.cores, run.start_s, estimate_s, width, fewest, wished]
    return {"time_s": snapshot.time_s, "runs": runs}


def find_finished(
    before: Mapping[str, Any], picture: Picture, preempted: Collection[str], interval_s: float
) -> tuple[Finished, ...]:
    """The runs that have ended since ``before`` was written. Never raises: what cannot be read taught nothing."""
    try:
        pause_s = picture.time_s - float(before["time_s"])
        if not 0 < pause_s <= _LONGEST_PAUSE * interval_s:
            return ()
        gone = [
            (run_id, noted)
            for run_id, noted in before["runs"].items()
            if run_id not in picture.jobs and run_id not in preempted and not _waits_again(run_id, picture)
        ]
        return tuple(_finished(run_id, noted, picture.time_s) for run_id, noted in gone)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _finished(run_id: str, noted: list[Any], now_s: float) -> Finished:
    user, application, cores, start_s, estimate_s, width, fewest, *others = noted
    return Finished(
        run_id,
        str(user),
        str(application),
        int(cores),
        float(start_s),
        now_s,
        UNLIMITED_S if estimate_s is None else float(estimate_s),
        int(width),
        int(fewest),
        # What an earlier version noted does not say whether the job wished for a layout: nothing is learned from it.
        wished=others != [False],
    )


def _waits_again(run_id: str, picture: Picture) -> bool:
    """Whether a subjob, which the server lists only while it runs, is among those of its array that wait."""
    index = index_of(run_id)
    if index is None:
        return False
    array = picture.jobs.get(parent_of(run_id), {})
    return index in read_indices(array.get("array_indices_remaining", ""), [])
