"""Reads the vnodes from the server, for the rare submission that the last pass's summary would refuse: vnodes may have
been made, enlarged or named since.

Everything in the server waits for this, so it gives up after a fifth of a second. A read that took more than a
hundredth is followed by none for fifty times as long; a job that cannot be judged meanwhile is let through, and waits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from hooks.pbs.custom_resources import DEFAULT_PARTITION, PLENTY
from hooks.store.event_hook_summary import QueueSummary, Summary
from policy.model.pbs_units import parse_amount

LONGEST_S = 0.2
_SHORT_S = 0.01
_REST = 50
_rested_s = [0.0]


class _Vnode(NamedTuple):
    """What a vnode has of each consumable, its host, the queues that it is bound to, and its partition."""

    name: str
    available: dict[str, int]
    host: str
    queues: tuple[str, ...]
    partition: str


def reread_summary(pbs: Any, queue: str, summary: Summary) -> Summary | None:
    """The summary with the queue's vnodes, and the names of all vnodes, as they are now. None if that cannot be known:
    a vnode of the queue has not reported yet, or there is no time to read."""
    begun_s = time.monotonic()
    if begun_s < _rested_s[0]:
        return None
    try:
        vnodes = []
        for vnode in _read_vnodes(pbs, summary.consumables):
            if time.monotonic() - begun_s > LONGEST_S:
                return None
            vnodes.append(vnode)
        partition = _partition(pbs.server().queue(queue))
    finally:
        now_s = time.monotonic()
        if now_s - begun_s > _SHORT_S:
            _rested_s[0] = now_s + _REST * (now_s - begun_s)
    bound = [vnode for vnode in vnodes if queue in vnode.queues]
    mine = bound or [vnode for vnode in vnodes if not vnode.queues and vnode.partition == partition]
    if any("ncpus" not in vnode.available for vnode in mine):
        return None
    names = {name.lower() for vnode in vnodes for name in (vnode.name, vnode.host) if name}
    here = _describe(mine, summary.queues[queue])
    queues, known = {**summary.queues, queue: here}, frozenset(names)
    return Summary(queues, summary.default_queue, summary.consumables, known, summary.sizes)


def _describe(vnodes: list[_Vnode], before: QueueSummary) -> QueueSummary:
    """The queue with these vnodes. Resources that are not counted stay plentiful."""
    together = {name: amount for name, amount in before.together.items() if amount >= PLENTY}
    largest = dict(together)
    hosts: dict[str, dict[str, int]] = {}
    for vnode in vnodes:
        host = hosts.setdefault(vnode.host or vnode.name, {})
        for resource, amount in vnode.available.items():
            host[resource] = host.get(resource, 0) + amount
    for amounts in hosts.values():
        for resource, amount in amounts.items():
            together[resource] = together.get(resource, 0) + amount
            largest[resource] = max(amount, largest.get(resource, 0))
    return before._replace(together=together, largest=largest, hosts=len(hosts), vnodes=len(vnodes))


def _read_vnodes(pbs: Any, consumables: frozenset[str]) -> Iterator[_Vnode]:
    for vnode in pbs.server().vnodes():
        available = {}
        for resource in consumables:
            amount = parse_amount(_read_text(vnode.resources_available, resource))
            if amount is not None:
                available[resource] = amount
        queues = tuple(filter(None, str(vnode.queue or "").split(",")))
        host = _read_text(vnode.resources_available, "host")
        yield _Vnode(str(vnode.name), available, host, queues, _partition(vnode))


def _read_text(amounts: Any, resource: str) -> str:
    try:
        value = amounts[resource]
    except Exception:  # noqa: BLE001 - how PBS says that it does not know a resource differs by version
        return ""
    return "" if value is None else str(value)


def _partition(owner: Any) -> str:
    partition = str(getattr(owner, "partition", None) or "")
    return "" if partition == DEFAULT_PARTITION else partition
