"""Finds runs that have ended between two passes: those that the last pass saw running and the server no longer has.

The server reports no ends, so each pass records what runs and the CPU time that PBS has counted, for the predictor and
striping to learn from. Not counted are a job that waits again, a preempted job (the work of its earlier runs is not
known), and all runs after a long pause between two passes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hooks.pbs.job_attributes.job_ids_and_states import waits_again
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.job_preferences import AUTO
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Finished
from policy.model.pbs_units import UnitError, parse_duration_s
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot
from policy.striping.idle_and_shared_nodes import StripeNodes
from policy.striping.spread_ranks import cut
from policy.striping.vnodes_of_applications import touched

_STARTED, _USED = 3, 8
"""Where a record has the start of the run, and the CPU time and the wall time counted last."""
_LEAST_NOTED = 7
"""The values of a record of the first version."""
_LONGEST_PAUSE = 3
"""In intervals: after a longer pause the time of a run's end is not known."""
_LEAST_COUNTED = 0.5
"""The share of a run for which its CPU time must have been counted, to stand for all of it."""


def learns(settings: Settings) -> bool:
    """Whether the settings learn anything from runs that have ended."""
    return settings.backfill.predictor != "none" or settings.stripe.learns


def counts_cpu_time(settings: Settings) -> bool:
    """Whether the passes need the CPU time of runs."""
    return settings.stripe.learns and settings.stripe.learn_from == "cpu-time"


def note_runs(
    snapshot: Snapshot, before: Mapping[str, Any], settings: Settings, jobs: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """The present runs as plain data for the next pass; ``before`` is what the last pass wrote, ``jobs`` what the
    server says of them."""
    known = _known_runs(before)
    runs: dict[str, list[Any]] = {}
    cluster = snapshot.cluster()
    nodes: StripeNodes | None = None
    for run_id, run in cluster.runs.items():
        job = run.job
        noted, used = known.get(run_id), _read_used(jobs.get(run_id, {})) if job.application else []
        if noted is not None and noted[_STARTED] == run.start_s:
            runs[run_id] = [*noted[:_USED], used] if used and len(noted) >= _USED else noted
            continue
        width = fewest = 1
        if job.application and settings.stripe.learns:
            nodes = nodes or StripeNodes(cluster, {}, settings.stripe, snapshot.time_s)
            width = nodes.count(touched(run.allocation, cluster.capacity.directory))
            fewest = nodes.fewest(cut(job.request) or job.request, cluster.vnodes_of(job.queue)) or width
        estimate_s = None if job.estimate_s == UNLIMITED_S else job.estimate_s
        asked_layout = job.layout is not None and job.layout.kind != AUTO
        runs[run_id] = [
            job.user, job.application, job.cores, run.start_s, estimate_s, width, fewest, asked_layout, used,
        ]  # fmt: skip
    return {"time_s": snapshot.time_s, "runs": runs}


def find_finished(
    before: Mapping[str, Any], server_status: ServerStatus, preempted: Collection[str], interval_s: float
) -> tuple[Finished, ...]:
    """The runs that have ended since ``before`` was written. Never raises: from unreadable data nothing is learned."""
    try:
        pause_s = server_status.time_s - float(before["time_s"])
        if not 0 < pause_s <= _LONGEST_PAUSE * interval_s:
            return ()
        gone = [
            (run_id, noted)
            for run_id, noted in _known_runs(before).items()
            if run_id not in server_status.jobs
            and run_id not in preempted
            and not waits_again(run_id, server_status.jobs)
        ]
        return tuple(_finished(run_id, noted, server_status.time_s) for run_id, noted in gone)
    except (KeyError, TypeError, ValueError):
        return ()


def _known_runs(before: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The runs that the last pass wrote; entries that are none are left out."""
    runs = before.get("runs")
    return {run_id: noted for run_id, noted in runs.items() if _is_run(noted)} if isinstance(runs, dict) else {}


def _is_run(noted: object) -> bool:
    if not isinstance(noted, list) or len(noted) < _LEAST_NOTED:
        return False
    user, application, cores, start_s, estimate_s, *nodes = noted[:_LEAST_NOTED]
    used = noted[_USED] if len(noted) > _USED else []
    numbers = [cores, start_s, *nodes, 0 if estimate_s is None else estimate_s]
    return (
        isinstance(user, str)
        and isinstance(application, str)
        and isinstance(used, list)
        and len(used) in (0, 2)
        and all(isinstance(number, (int, float)) for number in [*numbers, *used])
    )


def _finished(run_id: str, noted: list[Any], now_s: float) -> Finished:
    user, application, cores, start_s, estimate_s, width, fewest, *others = noted
    used = noted[_USED] if len(noted) > _USED else []
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
        _extend_cpu_time(used, now_s - float(start_s)),
        # Records of earlier versions do not say whether the job asked for a layout: nothing is learned from them.
        asked_layout=others[:1] != [False],
    )


def _read_used(texts: Mapping[str, str]) -> list[float]:
    """The CPU time and the wall time that PBS has counted of a run so far, in seconds; empty if it has not."""
    try:
        return [float(parse_duration_s(texts["resources_used." + name])) for name in ("cput", "walltime")]
    except (KeyError, UnitError):
        return []


def _extend_cpu_time(used: list[float], took_s: float) -> float | None:
    """The CPU time of a whole run that took ``took_s``, if enough of it was counted: at the rate counted."""
    if not used or used[1] < max(1.0, _LEAST_COUNTED * took_s):
        return None
    return used[0] * took_s / used[1]
