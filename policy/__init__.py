"""The scheduling decision: a pure function of a snapshot of the cluster.

:func:`decide` takes a :class:`Snapshot` (the cluster now), a :class:`Ledger` (what is remembered, such as promises) and
:class:`Settings`. It returns a :class:`Plan`: which jobs start, which runs are preempted, and the reason for each job
that stays queued. It reads no clock, file, environment or random source, so equal inputs give equal plans.
"""

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
