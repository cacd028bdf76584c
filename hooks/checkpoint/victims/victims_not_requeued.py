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
FIRST_S, LONGEST_S = 10.0, 600.0
"""For how many seconds a refusal counts: the first one of a run ``FIRST_S``, since its host may have been busy for a
moment; each further one twice as long as the one before, ``LONGEST_S`` at most."""


class NotRequeued(NamedTuple):
    """The last refusal of the run since ``start_s``, at ``at_s``, and how many ``times`` it was refused."""

    start_s: float
    at_s: float
    times: int = 1

    @property
    def until_s(self) -> float:
        """The moment from which on the run may be a victim again."""
        return self.at_s + min(LONGEST_S, FIRST_S * 2.0 ** min(self.times - 1, 10))


def read_not_requeued(data: Mapping[str, Any], server_status: ServerStatus) -> dict[str, NotRequeued]:
    """The refusals by job or subjob: of runs that are still there, and not too long ago."""
    found: dict[str, NotRequeued] = {}
    for job_id, entry in data.items():
        try:
            refusal = NotRequeued(float(entry[0]), float(entry[1]), int(entry[2]) if len(entry) > 2 else 1)
        except (TypeError, ValueError, LookupError, OverflowError):
            continue
        texts = server_status.jobs.get(job_id)
        is_fresh = 0 <= server_status.time_s - refusal.at_s < 2 * LONGEST_S and refusal.times >= 1
        if texts is not None and read_start_s(texts) == refusal.start_s and is_fresh:
            found[job_id] = refusal
    return found


def with_new(
    known: Mapping[str, NotRequeued], refused: Collection[str], server_status: ServerStatus
) -> dict[str, NotRequeued]:
    """The refusals after a pass in which PBS refused to requeue these."""
    starts = {job_id: read_start_s(server_status.jobs.get(job_id, {})) for job_id in refused}
    new = {
        job_id: NotRequeued(start_s, server_status.time_s, known[job_id].times + 1 if job_id in known else 1)
        for job_id, start_s in starts.items()
        if start_s is not None
    }
    return {**known, **new}


def find_counting(known: Mapping[str, NotRequeued], now_s: float) -> set[str]:
    """The runs that are no victims now."""
    return {job_id for job_id, refusal in known.items() if now_s < refusal.until_s}


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
