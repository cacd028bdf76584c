"""Whether a plan still holds at the next poll, so that nothing is decided anew on a server on which nothing moves.

It does where nothing but the time differs, and no time has come that changes what is decided: one that the plan itself
names, or the end of a run as it was expected. After a minute it is made anew in any case, since readings get old and
windows open and close.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from policy import Run

if TYPE_CHECKING:
    from tui.state.cluster_view import Decision, World

LASTS_S = 60.0
_COMPARED = ("server", "queues", "scheds", "resources", "reservations", "vnodes", "jobs")


def still_holds(decision: Decision, decided_on: World, world: World) -> bool:
    """Whether a decision on one world is what would be decided on a later one."""
    return (
        0 <= world.now_s - decision.snapshot.time_s < LASTS_S
        and world.now_s < _until_s(decision)
        and world.settings == decided_on.settings
        and world.ledger == decided_on.ledger
        and all(_is_same(getattr(world.picture, part), getattr(decided_on.picture, part)) for part in _COMPARED)
    )


def _until_s(decision: Decision) -> float:
    """When time alone may change the decision; at once where a run is over its time already."""
    runs: Mapping[str, Run] = decision.snapshot.world().runs
    ends_s = min((run.end_s for run in runs.values()), default=float("inf"))
    return ends_s if decision.plan.next_s is None else min(ends_s, decision.plan.next_s)


def _is_same(one: Any, other: Any) -> bool:
    """What did not change is mostly the very same object, so this is quick also for a hundred thousand jobs."""
    return one is other or bool(one == other)
