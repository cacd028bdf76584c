"""A reservation is submitted: it must be within the bounds of a submission, a user's must stay within the quotas of
the user's jobs, and may not be made of a job that pbsteer drives or advises.

Everything in the server waits for this, but reservations are rare: it reads the present ones, and the quotas as the
last pass has read them. The bounds hold in every mode and for all, but for those on how it recurs; beyond them
reservations of managers and operators are let through, and all if all queues are observed.
"""

from __future__ import annotations

import contextlib
import grp
import pwd
import time
from typing import Any

from hooks.admission.reservation_quota import FOREVER_S, Reserved, Table, refuse_beyond_quota
from hooks.admission.texts.overlong_reservation_texts import refuse_reservation_beyond_bounds
from hooks.admission.texts.recurring_reservations import refuse_costly_recurrence
from hooks.admission.texts.times_without_date import read_event_seconds
from hooks.pbs.job_attributes.read_resource_list_value import read_value
from hooks.pbs.managers_and_operators import may_manage
from hooks.store.event_hook_summary import Summary, read_summary
from hooks.store.hook_settings import read_config

_LONGEST_S = 1.0
"""The time limit for reading reservations: enough for some thousand."""


def handle(pbs: Any) -> str | None:
    """Judge the reservation of this event."""
    event, server = pbs.event(), pbs.server()
    resv = event.resv
    submission = read_config(pbs.hook_config_filename).submission
    excess = refuse_reservation_beyond_bounds(resv, submission) or refuse_costly_recurrence(pbs, resv)
    if excess:
        return excess
    if submission.reservations == "any":
        return None
    summary = read_summary(pbs.pbs_conf["PBS_HOME"])
    managed = [name for name, queue in summary.queues.items() if queue.mode != "observe"]
    if not managed or may_manage(pbs):
        return None
    job_id = str(resv.reserve_job or "")
    if job_id:
        return _refuse_job(server, job_id, summary)
    tables = [Table(name, *each) for name, quotas in summary.quotas.items() for each in quotas.items()]
    if not tables:
        return None
    user, now_s = str(event.requestor), time.time()
    others = _read_others(server, user)
    if others is None:
        return f"there are more reservations than can be looked at in {_LONGEST_S:g} s to judge that of a user"
    largest: dict[str, int] = {}
    for name in managed:
        for resource, amount in summary.queues[name].largest.items():
            largest[resource] = max(amount, largest.get(resource, 0))
    return refuse_beyond_quota(
        _read(resv, tables, now_s),
        [_read(other, tables, now_s) for other in others],
        tables,
        user,
        _group_of(user),
        largest=largest,
        consumables=summary.consumables,
        sizes=summary.sizes,
    )


def _refuse_job(server: Any, job_id: str, summary: Summary) -> str | None:
    """Refuse it unless the job's queue is observed. PBS accepts this from the job's owner only, and confirms the
    reservation without its scheduler."""
    job = server.job(job_id)
    queue = str(job.queue) if job is not None else ""
    if job is not None and summary.mode(queue) == "observe":
        return None
    where = f"of queue {queue}, which is in {summary.mode(queue)}" if queue else "that is not known"
    return (
        f"job {job_id} {where}, is made a reservation by managers and operators only: no quota would reach it there"
        " (submission.reservations)"
    )


def _read_others(server: Any, user: str) -> list[Any] | None:
    """The user's existing reservations; None if there are too many reservations to read."""
    begun_s, found = time.monotonic(), []
    for resv in server.resvs():
        if time.monotonic() - begun_s > _LONGEST_S:
            return None
        if str(resv.Reserve_Owner or "").partition("@")[0] == user:
            found.append(resv)
    return found


def _read(resv: Any, tables: list[Table], now_s: float) -> Reserved:
    """A reservation that exists or is requested; the latter has a start, an end or a duration."""
    resources = resv.Resource_List
    begin_s = read_event_seconds(resv.reserve_start) or now_s
    length_s = read_event_seconds(resv.reserve_duration) or read_event_seconds(read_value(resources, "walltime"))
    end_s = read_event_seconds(resv.reserve_end) or (begin_s + length_s if length_s else FOREVER_S)
    plain = {table.resource: read_value(resources, table.resource) or "" for table in tables}
    select, place = read_value(resources, "select") or "", read_value(resources, "place") or ""
    nodes = read_value(resources, "nodes") or ""
    recurs = bool(resv.reserve_rrule)
    return Reserved(select, place, plain, begin_s, FOREVER_S if recurs else end_s, nodes)


def _group_of(user: str) -> str:
    """The group for which PBS counts a user's jobs that name none."""
    with contextlib.suppress(KeyError):
        return grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name
    return ""
