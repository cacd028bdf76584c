"""Release profile: which resources come free when, by the estimates of runs and of beneficiaries yet to run.

A beneficiary whose victims have not ended yet counts as running on its earmark, and its victims count as gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policy.model.allocation import Allocation, Share
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job
from policy.state.cluster_index import ClusterIndex
from policy.state.vnodes_by_idle_cores import Capacity


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


class Release(NamedTuple):
    """Resources that come free at ``end_s``."""

    end_s: float
    allocation: Allocation
    request: Request


class ReleaseProfile(NamedTuple):
    """What is ``free`` now (its own copy), the ``releases`` to come, by time, and the ids of runs that count as
    ``gone``."""

    free: Capacity
    releases: list[Release]
    gone: frozenset[str]


def expected_ends(cluster: ClusterIndex, expected: Mapping[str, float]) -> Sequence[tuple[float, str]]:
    """The ends of all runs by time; those in ``expected`` replace the ends by estimate."""
    if not expected:
        return cluster.ends
    ends = [end for end in cluster.ends if end[1] not in expected]
    ends += [(end_s, run_id) for run_id, end_s in expected.items()]
    ends.sort()
    return ends


def once_victims_end(cluster: ClusterIndex, pending: Sequence[Pending]) -> Capacity:
    """A copy of what is free, as it will be when all victims have ended and all their beneficiaries run."""
    free = cluster.capacity.copy()
    for victim in sorted({victim for earmark in pending for victim in earmark.victims} & cluster.runs.keys()):
        run = cluster.runs[victim]
        free.give(run.allocation.shares(free.directory), run.job.request)
    for earmark in pending:
        free.take_amounts(earmark.missing)
        free.close(earmark.allocation.shares(free.directory), earmark.job.request)
    return free


def release_profile(
    cluster: ClusterIndex, ends: Sequence[tuple[float, str]], pending: Sequence[Pending]
) -> ReleaseProfile:
    """The release profile from these ends of runs and the ends of the beneficiaries."""
    free = once_victims_end(cluster, pending)
    gone = frozenset(victim for earmark in pending for victim in earmark.victims)
    releases = [Release(earmark.end_s, earmark.allocation, earmark.job.request) for earmark in pending]
    for end_s, run_id in ends:
        if run_id not in gone:
            run = cluster.runs[run_id]
            releases.append(Release(end_s, run.allocation, run.job.request))
    if pending:
        releases.sort(key=lambda release: release.end_s)
    return ReleaseProfile(free, releases, gone)


def give_back(capacity: Capacity, releases: Sequence[Release]) -> None:
    """Free the resources of all these releases."""
    for release in releases:
        capacity.give(release.allocation.shares(capacity.directory), release.request)
