"""What a pass has read and what it has decided: the data that its five functions hand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple

from hooks.act.apply_plan import Permissions
from hooks.act.job_priorities_for_pbs_sched import Advice
from hooks.act.soft_walltime_stripe_for_waiting_jobs import ResourceChanges
from hooks.checkpoint.victims.victims_not_requeued import NotRequeued
from hooks.control.decision_time_limit import Slow
from hooks.control.pbs_scheduler.fair_share_charges import ChargeRecord, Charges
from hooks.control.pbs_scheduler.scheduler_switch import Assignment, Switched
from hooks.control.starts_refused import RefusedStarts
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.quota_plan.quota_plan_files import PlanFiles
from hooks.quota_plan.set_due_planned_quotas_on_server import QuotaWork
from hooks.store.event_hook_summary import Summary
from hooks.store.original_priorities import Priorities
from hooks.translate.snapshot import Translation
from policy.model.ledger_between_passes import Ledger
from policy.plan.plan_types import Plan


class ServerRead(NamedTuple):
    """What a pass has read. ``raw``: the server's status; ``server_status``: the same with the priorities that users
    gave; ``files``: the schedulers' files; ``priorities``, ``switched``, ``runs``, ``charged`` and ``ledger_of``: the
    records of earlier passes; ``quota_plan``: the planned quotas; ``problems``: sentences on programs of dynamic
    resources; ``not_requeued``: runs that PBS refused to requeue; ``refused``: jobs that it refused to start. Which of
    the ledgers is read depends on what the pass may do."""

    raw: ServerStatus
    server_status: ServerStatus
    files: SchedFiles
    priorities: Priorities
    switched: Switched
    runs: Mapping[str, Any]
    charged: ChargeRecord
    ledger_of: Callable[[str], tuple[Ledger, str]]
    quota_plan: PlanFiles = PlanFiles()
    problems: Sequence[str] = ()
    not_requeued: Mapping[str, NotRequeued] = {}
    refused: Mapping[str, RefusedStarts] = {}


class Decision(NamedTuple):
    """What a pass is going to do, what it was decided from, and what has to be on disk before.

    ``ledger``: what was decided from; ``ledger_name``: its file, to be replaced; ``unusable``: why that could not be
    read; ``runs``: what runs now, None if nothing is learned from runs; ``charges``: fair share usage to charge;
    ``quota_work``: planned quotas to set.
    """

    translation: Translation
    plan: Plan
    assignment: Assignment
    permissions: Permissions
    advice: Advice
    resource_changes: ResourceChanges
    notes: list[str]
    slowest: list[Slow]
    summary: Summary
    ledger: Ledger
    ledger_name: str
    unusable: str
    runs: Mapping[str, Any] | None
    charges: Charges
    quota_work: QuotaWork
