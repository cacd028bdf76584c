"""What to do: a pure decision over a picture of the cluster.

:func:`decide` takes a :class:`Snapshot` (what is), a :class:`Ledger` (what was promised) and :class:`Settings`
(what the
site wants) and returns a :class:`Plan`: what to start, whom to preempt, and for each job left alone the reason. Nothing
here reads a clock, a file, the environment or a random source, so the same three values always give the same plan.
"""

from policy.cluster import Job, Queue, Run, Vnode
from policy.engine import decide
from policy.ledger import Ledger
from policy.plan import Plan, Preempt, Start
from policy.reasons import Reason
from policy.request import Request, parse_request
from policy.settings import Settings, SettingsError
from policy.snapshot import Changes, Snapshot

__all__ = [
    "Changes",
    "Job",
    "Ledger",
    "Plan",
    "Preempt",
    "Queue",
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
