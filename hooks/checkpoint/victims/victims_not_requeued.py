"""Victims whose requeue PBS has refused, as of jobs that are not rerunnable any more: they are no victims for a while.

Otherwise each pass would choose the same run, be refused, and keep its cores earmarked. The pass decides on a status in
which such a run is not rerunnable, so that another is chosen, and on a ledger without the earmarks that wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import read_start_s
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.ledger_between_passes import Ledger

NOT_REQUEUED = "victims-not-requeued.json"
_MOST_SHOWN = 5
RETRY_S = 600.0
"""A refusal that may have passed, such as that of a MoM that did not answer, counts for so long."""


class NotRequeued(NamedTuple):
    """A refusal: of the run since ``start_s``, at ``at_s``."""

    start_s: float
    at_s: float


def read_not_requeued(data: Mapping[str, Any], server_status: ServerStatus) -> dict[str, NotRequeued]:
    """The refusals that still count, by job or subjob: of runs that are still there, and not too long ago."""
    found: dict[str, NotRequeued] = {}
    for job_id, entry in data.items():
        try:
            refusal = NotRequeued(float(entry[0]), float(entry[1]))
        except (TypeError, ValueError, LookupError):
            continue
        texts = server_status.jobs.get(job_id)
        is_fresh = 0 <= server_status.time_s - refusal.at_s < RETRY_S
        if texts is not None and read_start_s(texts) == refusal.start_s and is_fresh:
            found[job_id] = refusal
    return found


def with_new(
    known: Mapping[str, NotRequeued], refused: Collection[str], server_status: ServerStatus
) -> dict[str, NotRequeued]:
    """The refusals after a pass in which PBS refused to requeue these."""
    starts = {job_id: read_start_s(server_status.jobs.get(job_id, {})) for job_id in refused}
    new = {job_id: NotRequeued(at_s, server_status.time_s) for job_id, at_s in starts.items() if at_s is not None}
    return {**known, **new}


def describe_not_requeued(known: Collection[str]) -> list[str]:
    """A sentence for the journal on the runs that are no victims now."""
    if not known:
        return []
    shown = ", ".join(sorted(known)[:_MOST_SHOWN]) + (" ..." if len(known) > _MOST_SHOWN else "")
    return [f"not preempted, as PBS refused to requeue them: {shown}"]


def without_as_victims(server_status: ServerStatus, known: Collection[str]) -> ServerStatus:
    """The status in which the runs are not rerunnable."""
    if not known:
        return server_status
    jobs = dict(server_status.jobs)
    for job_id in known:
        jobs[job_id] = {**jobs[job_id], "Rerunable": "False"}
    return replace(server_status, jobs=jobs)


def without_their_earmarks(ledger: Ledger, known: Collection[str]) -> Ledger:
    """The ledger without the earmarks that wait for one of the runs: their beneficiaries are attempted anew."""
    waiting = {job: mark for job, mark in ledger.earmarks.items() if not set(mark.victims) & set(known)}
    return ledger if len(waiting) == len(ledger.earmarks) else ledger._replace(earmarks=waiting)
