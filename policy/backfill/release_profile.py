"""Release profile: which resources come free when, by the estimates of runs and of beneficiaries yet to run.

A beneficiary whose victims have not ended yet counts as running on its earmark, and its victims count as gone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policy.model.allocation import Allocation, Share
from policy.model.jobs_runs_vnodes_queues import Job, Run
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity

_FEW = 500
"""Up to so many ends are replaced one by one, which is quicker than to sort all of them again."""

_LAST_ID = chr(0x10FFFF)
"""It sorts behind every id."""


class Pending(NamedTuple):
    """A beneficiary that will run when its victims have ended: where, and until when.

    ``missing`` is what it still lacks, ``inside`` what it holds already; ``closed`` are vnodes closed to others for it.
    """

    job: Job
    allocation: Allocation
    end_s: float
    victims: tuple[str, ...]
    missing: tuple[Share, ...]
    inside: tuple[Share, ...]
    closed: int


Ends = Sequence[tuple[float, str]]
"""Ends of runs and beneficiaries by time, each with the id of the run, or of the beneficiary's job."""


class ReleaseProfile(NamedTuple):
    """What is ``free`` now (its own copy), the ``ends`` to come, at which resources come free, and the ids of runs that
    count as ``gone``. Valid until a job or run of the cluster changes."""

    free: Capacity
    ends: Ends
    gone: frozenset[str]
    runs: Mapping[str, Run]
    beneficiaries: Mapping[str, Pending]

    def give_back(self, capacity: Capacity, first: int, last: int) -> None:
        """Free the resources of the ends from one index until before another."""
        for _, job_id in self.ends[first:last]:
            pending = self.beneficiaries.get(job_id)
            if pending is None:
                run = self.runs[job_id]
                capacity.give(run.allocation.shares(capacity.directory), run.job.request)
            else:
                capacity.give(pending.allocation.shares(capacity.directory), pending.job.request)

    def count_until(self, at_s: float) -> int:
        """How many of the ends come by that time."""
        return bisect_right(self.ends, (at_s, _LAST_ID))


def expected_ends(cluster: ClusterIndex, expected: Mapping[str, float]) -> Ends:
    """The ends of all runs by time; those in ``expected`` replace the ends by estimate."""
    if not expected:
        return cluster.ends
    if len(expected) > _FEW:
        ends = [end for end in cluster.ends if end[1] not in expected]
        ends += [(end_s, run_id) for run_id, end_s in expected.items()]
        ends.sort()
        return ends
    ends, runs = list(cluster.ends), cluster.runs
    for run_id, end_s in expected.items():
        if run_id in runs:
            del ends[bisect_left(ends, (runs[run_id].end_s, run_id))]
        insort(ends, (end_s, run_id))
    return ends


def once_victims_end(cluster: ClusterIndex, pending: Sequence[Pending]) -> Capacity:
    """A copy of what is free, as it will be when all victims have ended and all their beneficiaries run."""
    free = cluster.capacity.copy()
    for victim in sorted({victim for earmark in pending for victim in earmark.victims} & cluster.runs.keys()):
        run = cluster.runs[victim]
        free.give(run.allocation.shares(free.directory), run.job.request)
    for earmark in pending:
        free.take_amounts(earmark.missing)
        # The plan counts it on its vnodes since the earmark; the victims had these open again.
        free.hold_alone(earmark.allocation.shares(free.directory), earmark.job.request)
    return free


def release_profile(cluster: ClusterIndex, ends: Ends, pending: Sequence[Pending]) -> ReleaseProfile:
    """The release profile from these ends of runs and the ends of the beneficiaries."""
    gone = frozenset(victim for earmark in pending for victim in earmark.victims)
    beneficiaries = {earmark.job.id: earmark for earmark in pending}
    if pending:
        ends = [end for end in ends if end[1] not in gone]
        for job_id, earmark in beneficiaries.items():
            insort(ends, (earmark.end_s, job_id))
    return ReleaseProfile(once_victims_end(cluster, pending), ends, gone, cluster.runs, beneficiaries)
