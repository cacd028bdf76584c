"""What to do: a pure decision over a picture of the cluster.

:func:`decide` takes a :class:`Snapshot` (what is), a :class:`Ledger` (what was promised), :class:`Settings` (what the
site wants) and the formulas that rank vnodes, and returns a :class:`Plan`: what to start, whom to preempt, and for each
job left alone the reason. Nothing here reads a clock, a file, the environment or a random source, so the same values
always give the same plan.
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
