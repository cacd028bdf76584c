"""The change of one soft quota of a queue or the server, or of one priority of a queue, from what a user typed.

Quotas live in PBS on the queue or the server as ``max_run_res_soft.ncpus``, priorities as the same limit on a resource
that no job requests (docs/policies.md, P1 and P2). One entry is set at a time; the other entries stay as they are.
"""

from __future__ import annotations

import re
from functools import partial

from hooks.pbs.resources import PRIORITY
from hooks.pbs.status import ServerStatus
from policy.model.limits import EntityKey, show_entity, show_limits
from tui.model.overcommitted_quotas import overcommitted
from tui.model.typed_attributes import SOFT_LIMIT, limit_entry, soft_limits
from tui.operations.change import Change, ChangeError
from tui.operations.operation import Operation
from tui.operations.readback import Entry, Target
from tui.operations.status_edits import edit_queue, edit_server
from tui.state.cluster_view import ClusterView
from tui.state.quota_scope import SERVER, QuotaScope, scope_of

MOST_CORES = 10**9
_PLAIN_NAME = re.compile(r"[\w.@+-]+")


def show_quota(quota: int | None) -> str:
    """A quota as text."""
    return "none" if quota is None else f"{quota:,}"


def parse_quota(text: str, what: str = "quota") -> int | None:
    """The number of cores, or the priority, in the text; None for ``none``. Raises :class:`ChangeError`."""
    stripped = text.strip().replace(",", "").replace("_", "")
    if stripped.lower() == "none":
        return None
    if not (stripped.isascii() and stripped.isdigit()) or int(stripped) > MOST_CORES:
        raise ChangeError(f"{what} {text.strip()!r}: allowed is a whole number from 0 to {MOST_CORES:,}, or none")
    return int(stripped)


def check_entity(kind: str, name: str) -> EntityKey:
    """The entity for a typed name. Raises :class:`ChangeError` for a name that qmgr does not accept."""
    if not _PLAIN_NAME.fullmatch(name):
        raise ChangeError(f"{name!r} is no name that qmgr takes: allowed are letters, digits and . _ @ + -")
    return (kind, name)


def change_of(cluster: ClusterView, queue: str, entity: EntityKey, after: int | None, resource: str = "") -> Operation:
    """The operation that sets an entity's entry to ``after`` (None: removes it), from the value in the cluster view.

    ``queue`` names a scope (:mod:`tui.state.quota_scope`), ``resource`` replaces the scope's own resource if not empty.
    Raises :class:`ChangeError` if nothing would change.
    """
    scope = scope_of(cluster, check_scope(cluster, queue))
    if resource == PRIORITY and (not scope.queue or ":" in queue):
        raise ChangeError(f"{queue!r}: priorities stand on queues; allowed is the name of a queue")
    scope = scope._replace(resource=resource or scope.resource)
    check_entity(*entity)
    before = limit_entry(scope.attributes(cluster.server_status), scope.resource, entity)
    what = "priority " if resource == PRIORITY else "" if scope.resource == cluster.counted else f"{scope.resource} "
    if before == after:
        raise ChangeError(f"{entity[1]} already has {what}{show_quota(after)} in {scope.place}")
    change = Change(
        Target("queue", scope.queue) if scope.queue else Target("server", cluster.server_name),
        f"{what}{entity[1]} {show_quota(before)} → {show_quota(after)} in {scope.place}",
        _line(scope, entity, before, after),
        Entry(scope.resource, entity),
        show_quota(before),
        show_quota(after),
        _line(scope, entity, after, before),
    )
    edit = partial(_edit, scope=scope, entity=entity, after=after)
    notes = overcommitted(edit(cluster.server_status), scope.queue, scope.resource) if resource != PRIORITY else []
    return Operation(change.title, (change,), edit, notes=tuple(notes))


def _line(scope: QuotaScope, entity: EntityKey, before: int | None, after: int | None) -> tuple[str, ...]:
    attribute = f"set {f'queue {scope.queue}' if scope.queue else 'server'} {SOFT_LIMIT}{scope.resource}"
    if after is None:
        return ("qmgr", "-c", f"{attribute} -= [{show_entity(entity)}={before or 0}]")
    return ("qmgr", "-c", f"{attribute} += [{show_entity(entity)}={after}]")


def _edit(server_status: ServerStatus, scope: QuotaScope, entity: EntityKey, after: int | None) -> ServerStatus:
    limits = soft_limits(scope.attributes(server_status), scope.resource)
    changed = limits.without_entry(entity) if after is None else limits.with_entry(entity, after)
    texts = {SOFT_LIMIT + scope.resource: show_limits(changed)}
    return edit_queue(server_status, scope.queue, texts) if scope.queue else edit_server(server_status, texts)


def check_scope(cluster: ClusterView, text: str) -> str:
    """The text, if its queue is on the server or it names the server itself. Raises :class:`ChangeError` otherwise."""
    queue = text.partition(":")[0]
    if queue != SERVER and queue not in cluster.server_status.queues:
        there = ", ".join([*sorted(cluster.server_status.queues), SERVER])
        raise ChangeError(f"queue {queue!r}: the server has {there}; QUEUE:RESOURCE names another resource")
    return text
