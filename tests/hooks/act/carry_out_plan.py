"""A plan from a few ids, and what comes of it on the stand-in of a server."""

from __future__ import annotations

from typing import Any

from hooks.act.apply_plan import Outcome, Permissions, apply_plan
from hooks.checkpoint.save_method.save_method_of_job import read_methods
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.client.requests_within_time_budget import Budget
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.allocation import parse_exec_vnode
from policy.model.ledger_between_passes import Ledger
from policy.plan.plan_types import Plan, Preempt, Start, Waits
from policy.reasons.reason import Reason
from policy.settings.site_settings import CheckpointSettings, Settings
from tests.hooks.sample_server_statuses import snapshot_of
from tests.hooks.stand_in import pbs_ifl

PLAIN = Settings()
SAVING = Settings(checkpoint=CheckpointSettings(method="signal", grace_s=60))
IDLE_4 = Reason("too-few-idle", (("idle", 4),))
PREEMPTED = Reason(
    "preempted-quota", (("beneficiary", "2.s"), ("entity", "alice"), ("used", 8), ("limit", 4), ("queue", "w"))
)


def make_plan(seen: ServerStatus, starts: Any = (), preempts: Any = (), waits: Any = ()) -> Plan:
    """A plan from ids: starts as (id, place), preempts as (victim, beneficiary), waits as (reason, ids)."""
    snapshot = snapshot_of(seen, Settings())
    jobs, runs = snapshot.jobs, snapshot.runs
    return Plan(
        seen.time_s,
        tuple(Start(job_id, jobs[job_id], parse_exec_vnode(place)) for job_id, place in starts),
        tuple(Preempt(runs[victim], beneficiary, PREEMPTED) for victim, beneficiary in preempts),
        (),
        Waits({reason: [jobs[job_id] for job_id in ids] for reason, ids in waits}),
        Ledger(),
        snapshot,
    )


DRIVING = Permissions(frozenset({"workq"}), frozenset({"workq"}))


def carry(
    plan: Plan,
    seen: ServerStatus,
    permissions: Permissions = DRIVING,
    seconds: float = 10,
    settings: Settings = PLAIN,
    since: ServerStatus | None = None,
    digests: dict[str, str] | None = None,
) -> Outcome:
    """What comes of the plan on a server as it was ``seen``, or has become ``since``."""
    pbs_ifl.WORLD.update((since or seen).to_data())
    with Connection(pbs_ifl) as connection:
        return apply_plan(
            plan,
            seen,
            permissions,
            settings,
            read_methods(seen, settings, lambda _: None),
            pbs_ifl=pbs_ifl,
            connection=connection,
            budget=Budget(seconds),
            release=lambda: None,
            digests=digests or {},
        )


def done() -> list[list[str]]:
    return [call for call in pbs_ifl.CALLS if call[0] not in ("connect", "disconnect")]
