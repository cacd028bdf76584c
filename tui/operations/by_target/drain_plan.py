"""The plan of a drain: the jobs that run on the vnodes, when they end, and what requeueing them would cost.

A job's end follows from its own estimate. The work at stake is all that it ran since its start, an upper bound: PBS
does not know what a job has saved.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import is_array
from policy.model.pbs_units import show_job
from tui.model.typed_attributes import DRAINED_BY, RUNNING_STATES, moment, seconds, user_of, vnodes_of
from tui.operations.work_lost_if_run_ends import cost_of_run
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import day_and_time, short_span


class Stay(NamedTuple):
    """One run on the vnodes: its estimated end (None if it has no estimate) and the core-seconds that it ran so far."""

    job: str
    user: str
    cores: int
    until_s: float | None
    rerunable: bool
    ran_core_s: float


class Booking(NamedTuple):
    """A reservation on one of the vnodes; times in seconds since 1970, None where PBS does not show them."""

    name: str
    vnodes: tuple[str, ...]
    from_s: float | None
    until_s: float | None


class DrainPlan(NamedTuple):
    """The vnodes, the runs there ordered by their end (those without an estimate last), and the reservations."""

    vnodes: tuple[str, ...]
    stays: tuple[Stay, ...]
    bookings: tuple[Booking, ...]


OFFLINE_BY = "offline by"
"""The beginning of the comment of a vnode that was taken out of use with a reason."""

BEFORE = "; before: "
"""Separates a drain's comment from the vnode's earlier comment, which clearing the vnode restores."""


def drain_comment(user: str, before: str, reason: str = "") -> str:
    """The comment for a vnode that this user drains, with the reason and the earlier comment."""
    return _comment(DRAINED_BY, user, before, reason)


def offline_comment(user: str, before: str, reason: str) -> str:
    """The comment for a vnode that this user takes out of use for a reason, with the earlier comment."""
    return _comment(OFFLINE_BY, user, before, reason)


def _comment(done_by: str, user: str, before: str, reason: str) -> str:
    who = f"{done_by} {re.sub(r'[^A-Za-z0-9_.@-]', '_', user)[:40]}"
    why = f": {reason}" if reason else ""
    return f"{who}{why}{BEFORE}{before}" if before else f"{who}{why}"


def comment_before(comment: str) -> str | None:
    """The comment that the vnode had before pbsteer's own; None if this one is not pbsteer's."""
    return comment.partition(BEFORE)[2] if comment.startswith((DRAINED_BY, OFFLINE_BY)) else None


def plan_drain(cluster: ClusterView, vnodes: Collection[str]) -> DrainPlan:
    """The plan for these vnodes from the cluster view."""
    chosen = set(vnodes)
    stays = []
    for job, texts in cluster.server_status.jobs.items():
        placed = texts.get("exec_vnode", "")
        if not placed or is_array(job) or texts.get("job_state") not in RUNNING_STATES:
            continue
        if chosen.isdisjoint(vnodes_of(placed)):
            continue
        cost = cost_of_run(cluster, texts)
        began_s = cost.since_s
        estimate_s = seconds(texts, "Resource_List.soft_walltime") or seconds(texts, "Resource_List.walltime")
        stays.append(
            Stay(
                job,
                user_of(texts),
                cost.cores,
                began_s + estimate_s if began_s is not None and estimate_s is not None else None,
                texts.get("job_state") == "R" and texts.get("Rerunable", "True") == "True",
                cost.core_s,
            )
        )
    stays.sort(key=lambda stay: (stay.until_s is None, stay.until_s or 0.0))
    bookings = []
    for name, texts in cluster.server_status.reservations.items():
        held = tuple(vnode for vnode in vnodes_of(texts.get("resv_nodes", "")) if vnode in chosen)
        if held:
            bookings.append(Booking(name, held, moment(texts, "reserve_start"), moment(texts, "reserve_end")))
    return DrainPlan(tuple(vnodes), tuple(stays), tuple(bookings))


def drain_lines(plan: DrainPlan, now_s: float, listed: Collection[str] = ()) -> list[Line]:
    """The plan as lines, to decide between waiting and requeueing, without the jobs that are ``listed`` elsewhere."""
    lines: list[Line] = []
    if not plan.stays:
        lines.append((("no job runs there: drained at once", "good"),))
    else:
        last = plan.stays[-1].until_s
        end = "some have no estimate" if last is None else f"the last ends {_until(last, now_s)}"
        again = [stay for stay in plan.stays if stay.rerunable]
        hours = sum(stay.ran_core_s for stay in again) / 3600
        lines.append(((f"wait: {_jobs(len(plan.stays))} there, {end}", "bold"),))
        lines.append(((f"requeue: {_jobs(len(again))} now, up to {hours:,.1f} core-hours are run again", "bold"),))
        lines += stay_lines([stay for stay in plan.stays if stay.job not in listed], now_s)
    return [*lines, *booking_lines(plan, now_s)]


def stay_lines(stays: Sequence[Stay], now_s: float) -> list[Line]:
    """The runs on the vnodes, those that end last first."""
    return [_stay_line(stay, now_s) for stay in reversed(stays)]


def booking_lines(plan: DrainPlan, now_s: float) -> list[Line]:
    """The reservations on the vnodes."""
    lines: list[Line] = []
    for booking in plan.bookings:
        times = " to ".join("?" if at_s is None else day_and_time(at_s, now_s) for at_s in booking[2:])
        lines.append(((f"reservation {safe(booking.name)} has {safe(' '.join(booking.vnodes[:3]))}, {times}", "warn"),))
    return lines


def _stay_line(stay: Stay, now_s: float) -> Line:
    end = "no estimate" if stay.until_s is None else f"ends {_until(stay.until_s, now_s)}"
    kept = "" if stay.rerunable else " · cannot be requeued"
    who = f"{safe(show_job(stay.job))} {safe(stay.user)} {stay.cores:,}c"
    return ((f"  {who} · {end} · ran {stay.ran_core_s / 3600:,.1f} core-h{kept}", "" if stay.rerunable else "warn"),)


def _until(at_s: float, now_s: float) -> str:
    if at_s <= now_s:
        return f"{day_and_time(at_s, now_s)}, overdue"
    return f"{day_and_time(at_s, now_s)}, in {short_span(at_s - now_s)}"


def _jobs(count: int) -> str:
    return f"{count:,} job{'' if count == 1 else 's'}"
