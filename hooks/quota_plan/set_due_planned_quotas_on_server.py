"""Planned quotas within a pass: found due from the server's status, put on record, set on the server, and published.

The limits that a pass sets are those by which the next one decides. Nothing new is set where pbsteer observes, and
nothing at all during a pause; what waits for that is named in the journal.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hooks.audit.audit_of_own_changes import new_change, write_own_change
from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.pbs.client.requests_within_time_budget import Budget
from hooks.pbs.custom_resources import SOFT_LIMIT
from hooks.pbs.server_status_type_and_attributes import NAME, ServerStatus
from hooks.quota_plan.published_quota_plan import PublishedPlan
from hooks.quota_plan.quota_plan_files import QUOTA_PLAN_SHOWN, PlanFiles, publish_shown, write_record
from hooks.store.state_files import State
from policy.model.limit_attributes import EntityKey, LimitError, parse_limits, show_entity
from policy.model.pbs_units import show_count
from policy.quota_plan.limits_due import Due, PlanRecord, SetLimit, find_due, show_value
from policy.quota_plan.planned_quotas import LimitKey, in_force

_MOST_ENTRIES = 50
"""Entries in one request."""
NOTHING_DUE = Due((), PlanRecord(), {}, {}, ())


class QuotaWork(NamedTuple):
    """What a pass does about planned quotas. ``due`` is nothing where the plan cannot be used."""

    files: PlanFiles
    due: Due
    now_s: float

    def published(self) -> PublishedPlan:
        """The plan with each entry's state."""
        return PublishedPlan.of(self.files.plan, self.due, self.now_s, self.files.problem)

    def notes(self) -> list[str]:
        """Sentences for the administrator: an unusable file, what was changed by hand, what waits and why."""
        files, due = self.files, self.due
        notes = [f"{files.problem}; no planned quota is set or taken back until it is mended"] if files.problem else []
        if files.lost:
            notes.append(f"{files.lost}; entries of the quota plan that had begun are left as they are")
        reasons: dict[tuple[str, str], int] = {}
        for reason in due.waits.values():
            reasons[reason, "to be set"] = reasons.get((reason, "to be set"), 0) + 1
        for reason in due.undo_waits.values():
            reasons[reason, "to go back"] = reasons.get((reason, "to go back"), 0) + 1
        notes += [
            f"{show_count(count, 'planned quota')} {what}, not yet: {why}" for (why, what), count in reasons.items()
        ]
        return [*notes, *due.notes]


def find_quota_work(files: PlanFiles, server_status: ServerStatus, modes: Mapping[str, str], paused: str) -> QuotaWork:
    """What is due now. ``paused``: the pause in a few words, "" if there is none."""
    now_s = server_status.time_s
    if files.problem or (not files.plan and not files.record.overrides and not files.record.outcomes):
        return QuotaWork(files, NOTHING_DUE, now_s)

    def why_not(limit: LimitKey) -> str:
        if limit.queue and limit.queue not in modes:
            there = limit.queue in server_status.queues
            return f"pbsteer does not manage queue {limit.queue}" if there else f"there is no queue {limit.queue}"
        if limit.queue:
            return f"queue {limit.queue} is in observe" if modes[limit.queue] == "observe" else ""
        return "" if set(modes.values()) - {"observe"} else "all queues are in observe"

    current = read_limits(server_status, [*in_force(files.plan, now_s), *files.record.overrides])
    return QuotaWork(files, find_due(files.plan, files.record, current, now_s, why_not, paused), now_s)


def read_limits(server_status: ServerStatus, limits: Sequence[LimitKey]) -> dict[LimitKey, int | None]:
    """The present entries of these limits, None where there is none; those that cannot be read are left out."""
    tables: dict[tuple[str, str], Mapping[EntityKey, int] | None] = {}
    found: dict[LimitKey, int | None] = {}
    for limit in limits:
        place = limit.queue, limit.resource
        if place not in tables:
            tables[place] = _read_table(server_status, *place)
        table = tables[place]
        if table is not None:
            found[limit] = table.get(limit.entity)
    return found


def _read_table(server_status: ServerStatus, queue: str, resource: str) -> Mapping[EntityKey, int] | None:
    """The entries of a queue's soft limit, or the server's; None if they cannot be read."""
    texts = server_status.queues.get(queue, {}) if queue else server_status.server
    try:
        return parse_limits(texts.get(f"{SOFT_LIMIT}.{resource}", ""), resource).entries
    except LimitError:
        return None


def commit_quota_work(work: QuotaWork, state: State) -> tuple[QuotaWork, list[str]]:
    """Write the record of what is about to be set. Where the disk does not take it, nothing is set; returns the work
    that is left, and a sentence on that."""
    if work.due.record == work.files.record or work.files.problem:
        return work, []
    try:
        write_record(state, work.due.record)
    except OSError as error:
        left = work.due._replace(steps=(), record=work.files.record)
        return work._replace(due=left), [f"no planned quota is set or taken back: its record: {error}"]
    return work, []


class QuotaOutcome(NamedTuple):
    """What was set, as sentences, and what failed."""

    done: Sequence[str] = ()
    failures: Sequence[str] = ()


def set_limits(
    work: QuotaWork, server_status: ServerStatus, state: State, connection: Connection, budget: Budget
) -> QuotaOutcome:
    """Set what is due, as far as there is time; the next pass does the rest. A limit that was changed since the server
    was read is not set. Each request is written to the audit."""
    if not work.due.steps:
        return QuotaOutcome()
    done: list[str] = []
    failures: list[str] = []
    confirmed: list[LimitKey] = []
    try:
        fresh = connection.read_service(server_status.time_s)
        now = ServerStatus(server_status.time_s, connection.read_server(), fresh.queues, {}, {}, {}, {})
    except IflError as error:
        return QuotaOutcome((), [f"planned quotas: {error}"])
    present = read_limits(now, [step.limit for step in work.due.steps])
    steps = [step for step in work.due.steps if step.limit in present and present[step.limit] == step.found]
    entries = {entry.number: entry for entry in work.files.plan}
    left = {step.limit[:2]: set(_read_table(now, *step.limit[:2]) or ()) for step in steps}
    for group in _group(steps):
        if budget.left_s() <= 0:
            break
        planners = sorted({entries[step.number].by for step in group if step.number in entries})
        there, changed = left[group[0].limit[:2]], {step.limit.entity for step in group}
        if group[0].value is None:
            there.difference_update(changed)
        else:
            there.update(changed)
        failure = _send(group, planners, server_status, state, connection, is_last=not there)
        if failure:
            failures.append(failure)
            continue
        confirmed += [step.limit for step in group]
        done += [_tell(step) for step in group]
    if confirmed:
        try:
            write_record(state, work.due.record.confirmed(confirmed, work.now_s))
        except OSError as error:
            failures.append(f"the record of planned quotas: {error}")
    return QuotaOutcome(done, failures)


def _group(steps: Sequence[SetLimit]) -> list[list[SetLimit]]:
    """Steps that go into one request: of one limit, all of which set an entry, or all of which remove one."""
    groups: dict[tuple[str, str, bool], list[SetLimit]] = {}
    for step in steps:
        groups.setdefault((step.limit.queue, step.limit.resource, step.value is None), []).append(step)
    return [
        group[begin : begin + _MOST_ENTRIES]
        for group in groups.values()
        for begin in range(0, len(group), _MOST_ENTRIES)
    ]


def _send(
    group: Sequence[SetLimit],
    planners: Sequence[str],
    server_status: ServerStatus,
    state: State,
    connection: Connection,
    *,
    is_last: bool,
) -> str:
    """Send one request; returns a sentence if it failed. ``is_last``: it leaves the limit without entries."""
    queue, resource, _ = group[0].limit
    remove = group[0].value is None
    values = [step.found if remove else step.value for step in group]
    entries = ",".join(f"[{show_entity(step.limit.entity)}={value}]" for step, value in zip(group, values))
    change = new_change(
        server_status.server.get(NAME, ""),
        f"quota plan{' by ' if planners else ''}{', '.join(planners)}",
        connection.soft_limits_command(queue, resource, entries, remove=remove, is_last=is_last),
        ", ".join(show_value(step.found) for step in group),
        ", ".join(show_value(step.value) for step in group),
    )
    now_s = server_status.time_s
    try:
        write_own_change(state, change, "sending", now_s)
        connection.change_soft_limits(queue, resource, entries, remove=remove, is_last=is_last)
        write_own_change(state, change, "done", now_s, "; ".join(_tell(step) for step in group))
    except OSError as error:
        return f"planned quotas: the audit cannot be written: {error}"
    except IflError as error:
        with contextlib.suppress(OSError):
            write_own_change(state, change, "failed", now_s, str(error))
        return f"planned quotas: {error}"
    return ""


def publish_quota_plan(work: QuotaWork, state: State) -> list[str]:
    """Publish the plan with each entry's state, for those who may read the journal; returns a sentence if that
    failed."""
    if work.files == PlanFiles() and not state.read_published(QUOTA_PLAN_SHOWN):
        return []
    try:
        publish_shown(state, work.published().to_data())
    except OSError as error:
        return [f"the list of planned quotas: {error}"]
    return []


def _tell(step: SetLimit) -> str:
    why = f"by entry {step.number} of the quota plan" if step.number else "back to what it was before the quota plan"
    return f"{step.limit.show()}: {show_value(step.found)} → {show_value(step.value)}, {why}"
