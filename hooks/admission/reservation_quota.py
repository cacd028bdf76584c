"""Limits users' reservations, but not those of managers and operators: at any time a user reserves no more than that
user's jobs may use within quota.

A reservation belongs to PBS: its vnodes cannot be taken back, and its jobs are in a queue of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policy.model.job_request import Request, RequestError, parse_request
from policy.model.limit_attributes import LimitError, Limits, parse_limits, show_entity
from policy.model.pbs_units import parse_resource, show_amount, show_resource

FOREVER_S = math.inf
_PROJECT = "_pbs_project_default"
_SPREAD = ("scatter", "vscatter")


class Reserved(NamedTuple):
    """A reservation: its ``select`` and ``place``, the amounts named beside them, and its time. A standing one counts
    as if it never ended. ``nodes``: a request's chunks in the old form, of which PBS makes a ``select`` later."""

    select: str
    place: str
    plain: Mapping[str, str]
    begin_s: float
    end_s: float
    nodes: str = ""


class Table(NamedTuple):
    """A soft quota attribute: its queue ("" is the server), its resource, and its text."""

    queue: str
    resource: str
    text: str


class _Limit(NamedTuple):
    amount: int
    text: str


def refuse_beyond_quota(
    asked: Reserved,
    others: Iterable[Reserved],
    tables: Sequence[Table],
    user: str,
    group: str,
    *,
    largest: Mapping[str, int],
    consumables: frozenset[str],
    sizes: frozenset[str],
) -> str | None:
    """The sentence to refuse a user's reservation with; None if it is within quota beside the user's ``others``.

    ``largest``: what the largest host has. A reservation that has its vnodes alone keeps all of them. ``sizes``: the
    resources that are sizes.
    """
    limits = _find_limits(tables, user, group, sizes)
    if not limits:
        return None
    unread = _find_unreadable(asked, consumables, sizes)
    if unread:
        return unread
    counted = [each for each in others if each.begin_s < asked.end_s and asked.begin_s < each.end_s]
    for resource, limit in limits.items():
        amount = _amount(asked, resource, largest, consumables, sizes)
        before = sum(_amount(each, resource, largest, consumables, sizes) for each in counted)
        if amount and amount + before > limit.amount:
            others_keep = f" beside {show_amount(resource, before, sizes)} in other reservations of {user} at that time"
            return (
                f"{show_resource(resource, amount, sizes)} to be reserved{others_keep if before else ''} is more than"
                f" {limit.text}: reservations of users count as their jobs do; managers and operators may reserve"
                " more (submission.reservations)"
            )
    return None


def _find_limits(tables: Sequence[Table], user: str, group: str, sizes: frozenset[str]) -> dict[str, _Limit]:
    """By resource, the most that quotas let the user's jobs keep, in the queue that lets them keep most. If a queue's
    quotas do not bind the user, no queue's bind a reservation; those of the server always do."""
    found: dict[str, _Limit] = {}
    for resource in sorted({table.resource for table in tables}):
        of_resource = [table for table in tables if table.resource == resource]
        of_queues = [_bind(table, user, group, sizes) for table in of_resource if table.queue]
        of_server = [_bind(table, user, group, sizes) for table in of_resource if not table.queue]
        bounds = [bound for bound in of_server if bound is not None]
        bound_queues = [bound for bound in of_queues if bound is not None]
        if bound_queues and len(bound_queues) == len(of_queues):
            bounds.append(max(bound_queues))
        if bounds:
            found[resource] = min(bounds)
    return found


def _bind(table: Table, user: str, group: str, sizes: frozenset[str]) -> _Limit | None:
    where = f"queue {table.queue}" if table.queue else "the server"
    try:
        limits = parse_limits(table.text, where, sizes=True) if table.text else Limits()
    except LimitError:
        # A pass reports it, and pbsteer does not act in the queue.
        return None
    bounds = [
        _Limit(limit, f"the quota {show_entity(entity)}={show_amount(table.resource, limit, sizes)} of {where}")
        for entity, limit in limits.bounds(user, group, _PROJECT)
    ]
    return min(bounds) if bounds else None


def _find_unreadable(asked: Reserved, consumables: frozenset[str], sizes: frozenset[str]) -> str | None:
    """Why what a reservation would keep cannot be computed. PBS reads some numbers otherwise than they are written: of
    a count of chunks beyond 32 bits it drops the rest."""
    error = ""
    if asked.nodes:
        error = f"-l nodes={asked.nodes[:80]}"
    elif asked.select:
        try:
            parse_request(asked.select, asked.place, consumables, sizes)
        except RequestError as found:
            error = str(found)
    if not error:
        return None
    counts = "what a user reserves counts in the user's quotas, so say it with -l select="
    return f"{error}: {counts} (submission.reservations)"


def _amount(
    each: Reserved, resource: str, largest: Mapping[str, int], consumables: frozenset[str], sizes: frozenset[str]
) -> int:
    """What the reservation keeps of a resource. Where its chunks cannot be read, PBS's own sum counts."""
    try:
        request = parse_request(each.select, each.place, consumables, sizes) if each.select else None
    except RequestError:
        request = None
    if request is None:
        amount = parse_resource(resource, each.plain.get(resource, "0"), sizes)
        if resource == "ncpus":
            amount = max(1, amount or 0)
    else:
        amount = request.quota_cores if resource == "ncpus" else request.amount(resource)
    if request is not None and request.exclusive:
        return max(amount or 0, _fewest_vnodes(request, largest) * largest.get(resource, 0))
    return amount or 0


def _fewest_vnodes(request: Request, largest: Mapping[str, int]) -> int:
    if request.place in _SPREAD:
        return sum(chunk.pieces for chunk in request.chunks)
    return max(1, -(-request.cores // max(1, largest.get("ncpus", 1))))
