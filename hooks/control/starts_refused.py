"""Jobs whose starts PBS refuses one after the other, as a site's own hook does for a project without hours: they wait.

Otherwise each pass would plan the same start, preempt for it, be refused, and leave the cores idle. A single refusal
may be of the moment and counts for nothing; from the second one on the job waits, each time twice as long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from hooks.pbs.job_attributes.job_comment_format import refusal_in, show_moment
from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_running, parent_of
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.printable_text import printable
from policy.state.cluster_snapshot import Changes, Snapshot

STARTS_REFUSED = "starts-refused.json"
FIRST_S, LONGEST_S = 20.0, 3600.0
"""For how many seconds a job waits after the second refusal, and at most."""
_SHOWN = 200


class RefusedStarts(NamedTuple):
    """The last refusal of a job's start, at ``at_s``, how many ``times`` it was refused, and why; a reason that is
    empty is in the job's comment by the next pass."""

    at_s: float
    times: int
    why: str = ""

    @property
    def until_s(self) -> float:
        """The moment from which on its start is planned again."""
        return self.at_s + (min(LONGEST_S, FIRST_S * 2.0 ** min(self.times - 2, 10)) if self.times > 1 else 0.0)


def read_refused_starts(data: Mapping[str, Any], server_status: ServerStatus) -> dict[str, RefusedStarts]:
    """The refusals by job or array: of those that still wait, not too long ago, and of jobs those for which PBS gave a
    reason. A job without one may have started and failed at once, as on a host that is ill; of an array the subjobs
    have it."""
    found: dict[str, RefusedStarts] = {}
    for job_id, entry in data.items():
        texts = server_status.jobs.get(job_id)
        try:
            at_s, times, why = float(entry[0]), int(entry[1]), str(entry[2])
        except (TypeError, ValueError, LookupError, OverflowError):
            continue
        if texts is None or is_running(texts) or times < 1 or not 0 <= server_status.time_s - at_s < 2 * LONGEST_S:
            continue
        why = printable(refusal_in(texts.get("comment", "")) or why)[:_SHOWN]
        if why or is_array(job_id):
            found[job_id] = RefusedStarts(at_s, times, why)
    return found


def with_new_refusals(
    known: Mapping[str, RefusedStarts], refused: Collection[str], started: Collection[str], now_s: float
) -> dict[str, RefusedStarts]:
    """The refusals after a pass in which PBS refused to start the one jobs and subjobs and started the others."""
    gone, again = set(map(parent_of, started)), set(map(parent_of, refused))
    new = {
        job_id: RefusedStarts(now_s, known[job_id].times + 1, known[job_id].why)
        if job_id in known
        else RefusedStarts(now_s, 1)
        for job_id in again - gone
    }
    return {**{job_id: each for job_id, each in known.items() if job_id not in gone}, **new}


def keep_waiting(snapshot: Snapshot, known: Mapping[str, RefusedStarts]) -> Snapshot:
    """The snapshot in which these jobs may not start before their time."""
    jobs, now_s = snapshot.cluster().jobs, snapshot.time_s
    waiting = [
        jobs[job_id]._replace(blocked=_describe(refusals, now_s))
        for job_id, refusals in known.items()
        if now_s < refusals.until_s and job_id in jobs and not jobs[job_id].blocked
    ]
    return snapshot.apply(Changes(now_s, queued=waiting)) if waiting else snapshot


def _describe(refusals: RefusedStarts, now_s: float) -> str:
    why = f" ({refusals.why})" if refusals.why else ""
    tried_again = f"it is tried again {show_moment(refusals.until_s, now_s)}"
    return f"PBS refused its last {refusals.times} starts{why}: {tried_again}"
