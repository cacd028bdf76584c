"""What comes free, and when: the ends of runs as their estimates say, and of those that are still to take over cores.

The future that a head is reserved in. A beneficiary whose victims have not let go yet counts as running on what is kept
for it, and its victims as gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policy.model.allocation import Placement, Share
from policy.model.cluster import Job
from policy.model.request import Request
from policy.state.capacity import Capacity
from policy.state.cluster_index import World


class Pending(NamedTuple):
    """A beneficiary that will run as soon as its victims let go: where, until when, and what it still misses."""

    job: Job
    placement: Placement
    end_s: float
    victims: tuple[str, ...]
    missing: tuple[Share, ...]
    inside: tuple[Share, ...]
    closed: int


class Release(NamedTuple):
    """Resources that come free at ``end_s``."""

    end_s: float
    placement: Placement
    request: Request


class Future(NamedTuple):
    """What is ``free`` now, as a copy of its own, the ``releases`` to come, by time, and the runs that count as
    ``gone``."""

    free: Capacity
    releases: list[Release]
    gone: frozenset[str]


def expected_ends(world: World, expected: Mapping[str, float]) -> Sequence[tuple[float, str]]:
    """The ends of all runs by time, where some are expected before their estimates say."""
    if not expected:
        return world.ends
    return sorted([*(end for end in world.ends if end[1] not in expected), *((e, r) for r, e in expected.items())])


def once_victims_end(world: World, pending: Sequence[Pending]) -> Capacity:
    """A copy of what is free, as it will be once all victims have ended and all their beneficiaries run."""
    free = world.capacity.copy()
    for victim in sorted({victim for hold in pending for victim in hold.victims} & world.runs.keys()):
        run = world.runs[victim]
        free.give(run.placement.shares(free.directory), run.job.request)
    for hold in pending:
        free.take_amounts(hold.missing)
        free.close(hold.placement.shares(free.directory), hold.job.request)
    return free


def future_of(world: World, ends: Sequence[tuple[float, str]], pending: Sequence[Pending]) -> Future:
    """What comes free by these ends of runs, and by those of the beneficiaries."""
    free = once_victims_end(world, pending)
    gone = frozenset(victim for hold in pending for victim in hold.victims)
    releases = [Release(hold.end_s, hold.placement, hold.job.request) for hold in pending]
    for end_s, run_id in ends:
        if run_id not in gone:
            run = world.runs[run_id]
            releases.append(Release(end_s, run.placement, run.job.request))
    if pending:
        releases.sort(key=lambda release: release.end_s)
    return Future(free, releases, gone)


def give_back(capacity: Capacity, releases: Sequence[Release]) -> None:
    """All of these have come free."""
    for release in releases:
        capacity.give(release.placement.shares(capacity.directory), release.request)
