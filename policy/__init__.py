"""The scheduling decision: a pure function of a snapshot of the cluster.

:func:`decide` takes a :class:`Snapshot`, a :class:`Ledger` and :class:`Settings`, and returns a :class:`Plan`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policy.cycle.engine import decide
    from policy.model.job_request import Request, parse_request
    from policy.model.jobs_runs_vnodes_queues import Finished, Job, Queue, Reading, Run, Vnode
    from policy.model.ledger_between_passes import Ledger
    from policy.plan.plan_types import Plan, Preempt, Start
    from policy.reasons.reason import Reason
    from policy.settings.site_settings import Settings, SettingsError
    from policy.state.cluster_snapshot import Changes, Snapshot

__all__ = [
    "Changes",
    "Finished",
    "Job",
    "Ledger",
    "Plan",
    "Preempt",
    "Queue",
    "Reading",
    "Reason",
    "Request",
    "Run",
    "Settings",
    "SettingsError",
    "Snapshot",
    "Start",
    "Vnode",
    "decide",
    "parse_request",
]

_MODULES = {
    "Changes": "policy.state.cluster_snapshot",
    "Finished": "policy.model.jobs_runs_vnodes_queues",
    "Job": "policy.model.jobs_runs_vnodes_queues",
    "Ledger": "policy.model.ledger_between_passes",
    "Plan": "policy.plan.plan_types",
    "Preempt": "policy.plan.plan_types",
    "Queue": "policy.model.jobs_runs_vnodes_queues",
    "Reading": "policy.model.jobs_runs_vnodes_queues",
    "Reason": "policy.reasons.reason",
    "Request": "policy.model.job_request",
    "Run": "policy.model.jobs_runs_vnodes_queues",
    "Settings": "policy.settings.site_settings",
    "SettingsError": "policy.settings.site_settings",
    "Snapshot": "policy.state.cluster_snapshot",
    "Start": "policy.plan.plan_types",
    "Vnode": "policy.model.jobs_runs_vnodes_queues",
    "decide": "policy.cycle.engine",
    "parse_request": "policy.model.job_request",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use: a program that needs one module of this package loads no engine.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
