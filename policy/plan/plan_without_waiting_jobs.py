"""The plan of a pass in which nothing waits: the ledger forgets what has ended, and nothing else is decided.

A replay has such a pass for every end on a quiet cluster.
"""

from __future__ import annotations

from policy.model.ledger_between_passes import Ledger
from policy.plan.next_ledger import still_backfilled
from policy.plan.pass_context import Context
from policy.plan.plan_builder import PlanBuilder
from policy.plan.plan_types import Plan, Waits
from policy.settings.site_settings import Settings
from policy.state.cluster_snapshot import Snapshot


def plan_without_waiting_jobs(snapshot: Snapshot, ledger: Ledger, settings: Settings) -> Plan:
    """The plan for a cluster on which no job waits and no cores are earmarked."""
    cluster = snapshot.cluster()
    if cluster.has_classes or ledger.has_more_than_promises:
        return PlanBuilder(Context(snapshot, ledger, settings)).plan()
    backfilled = still_backfilled(ledger, cluster)
    if (
        backfilled is not ledger.backfilled
        or ledger.promises
        or ledger.asked
        or ledger.first_behind
        or ledger.tried_in_vain
    ):
        ledger = Ledger(backfilled=backfilled, history=ledger.history, learned=ledger.learned, seen_s=ledger.seen_s)
    return Plan(snapshot.time_s, (), (), (), Waits({}), ledger, snapshot)
