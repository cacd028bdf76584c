"""Decides whether a plan still holds at the next poll, so that an idle server needs no new decision.

It holds if only the time differs and no time has passed that changes the decision: one named by the plan, or the
expected end of a run. After a minute the plan is always remade, since readings age and time windows open and close.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from policy import Run

if TYPE_CHECKING:
    from tui.state.cluster_view import ClusterView, Decision

LASTS_S = 60.0
_COMPARED = ("server", "queues", "scheds", "resources", "reservations", "vnodes", "jobs")


def still_holds(decision: Decision, decided_on: ClusterView, cluster: ClusterView) -> bool:
    """Whether a new decision on ``cluster`` would equal the one made on ``decided_on``."""
    return (
        0 <= cluster.now_s - decision.snapshot.time_s < LASTS_S
        and cluster.now_s < _until_s(decision)
        and cluster.settings == decided_on.settings
        and cluster.ledger == decided_on.ledger
        and all(
            _is_same(getattr(cluster.server_status, part), getattr(decided_on.server_status, part))
            for part in _COMPARED
        )
    )


def _until_s(decision: Decision) -> float:
    """When time alone may change the decision; in the past if a run has outlived its estimate."""
    runs: Mapping[str, Run] = decision.snapshot.cluster().runs
    ends_s = min((run.end_s for run in runs.values()), default=float("inf"))
    return ends_s if decision.plan.next_s is None else min(ends_s, decision.plan.next_s)


def _is_same(one: Any, other: Any) -> bool:
    """Equality; an unchanged part is mostly the same object, which makes this fast for 100,000 jobs too."""
    return one is other or bool(one == other)
