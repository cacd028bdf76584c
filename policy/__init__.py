"""The scheduling decision: a pure function of a snapshot of the cluster.

:func:`decide` takes a :class:`Snapshot` (the cluster now), a :class:`Ledger` (what is remembered, such as promises),
:class:`Settings` and the formulas that rank vnodes. It returns a :class:`Plan`: which jobs start, which runs are
preempted, and the reason for each job that stays queued. It reads no clock, file, environment or random source, so
equal inputs give equal plans.
"""

from policy.cycle.engine import decide
from policy.model.cluster import Finished, Job, Queue, Reading, Run, Vnode
from policy.model.ledger import Ledger
from policy.model.request import Request, parse_request
from policy.plan.plan import Plan, Preempt, Start
from policy.ranking.score_formulas import FORMULAS, Formula, Formulas, check_formulas
from policy.reasons.reason import Reason
from policy.settings.site_settings import Settings, SettingsError
from policy.state.snapshot import Changes, Snapshot

__all__ = [
    "FORMULAS",
    "Changes",
    "Finished",
    "Formula",
    "Formulas",
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
    "check_formulas",
    "decide",
    "parse_request",
]
