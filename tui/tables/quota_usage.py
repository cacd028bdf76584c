"""What users, groups and projects hold and wait for, as quotas count it.

A job that has vnodes to itself counts with all of these.
"""

from __future__ import annotations

from dataclasses import replace

from tui.model.counts import Use, UserKey, count
from tui.state.cluster_view import World
from tui.state.quota_scope import QuotaScope

Uses = dict[str, Use]


def uses_in(world: World, scope: QuotaScope) -> tuple[Uses, Uses, Uses]:
    """Those of users, of groups and of projects, by name."""
    tally = world.tally
    if scope.resource != world.counted:
        tally = count(world.picture.jobs, world.picture.vnodes, scope.resource)
    kept = {}
    if world.decision is not None and (tally is not world.tally or _has_alone(world)):
        kept = world.decision.snapshot.use(scope.queue, scope.resource)
    found = []
    for kind, uses in (("u", tally.users), ("g", tally.groups), ("p", tally.projects)):
        summed = _summed(uses, scope.queue)
        found.append({name: replace(use, cores=kept.get((kind, name), use.cores)) for name, use in summed.items()})
    users, groups, projects = found
    return users, groups, projects


def _summed(uses: dict[UserKey, Use], queue: str) -> Uses:
    """Each one's use in a queue, or in all where it is ""."""
    if queue:
        return {name: use for (where, name), use in uses.items() if where == queue}
    summed: Uses = {}
    for (_, name), use in uses.items():
        old = summed.get(name, Use())
        summed[name] = Use(
            old.cores + use.cores,
            old.running + use.running,
            old.waiting + use.waiting,
            old.waiting_cores + use.waiting_cores,
        )
    return summed


def _has_alone(world: World) -> bool:
    """Whether some run has vnodes to itself."""
    if world.decision is None:
        return False
    snapshot = world.decision.snapshot
    return snapshot.world().capacity.sharing.has_lone_vnodes or any(
        run.job.request.exclusive for run in snapshot.runs.values()
    )
