"""The change of soft quotas of queues or the server, and of priorities of queues, as typed or from a file.

Quotas live in PBS on the queue or the server as ``max_run_res_soft.ncpus``, priorities as the same limit on a resource
that no job requests (docs/policies.md, P1 and P2). Each change sets one entry; the other entries stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hooks.pbs.custom_resources import PRIORITY
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.limit_attributes import EntityKey, show_limits
from policy.model.pbs_units import show_count
from tui.backends.commands_interface import Change, ChangeError, Commands, Target, demand_supported
from tui.backends.read_value_before_and_after_change import show_limit
from tui.model.overcommitted_quotas import overcommitted
from tui.model.typed_attributes import SOFT_LIMIT, limit_entry, soft_limits
from tui.operations.operation_type_and_preview import Operation
from tui.operations.status_edits_for_preview import Edit, edit_queue, edit_server
from tui.quota_files.check_quota_rows_against_server import ReadQuota
from tui.state.cluster_view import ClusterView
from tui.state.typed_quota_scope_and_resource import SERVER, QuotaScope, scope_of
from tui.text.screen_line import Line, safe

_MOST_LINES = 100
"""Changes of an import that are listed one by one."""


def set_quota(
    cluster: ClusterView, commands: Commands, queue: str, entity: EntityKey, after: int | None, resource: str = ""
) -> Operation:
    """The operation that sets an entity's entry to ``after`` (None: removes it), from the value in the cluster view.

    ``queue`` names a scope (:mod:`tui.state.typed_quota_scope_and_resource`), ``resource`` replaces the scope's own
    resource if not empty. Raises :class:`ChangeError` if nothing would change.
    """
    demand_supported(commands, "user-priority" if resource == PRIORITY else "quota")
    scope = scope_of(cluster, check_scope(cluster, queue))
    if resource == PRIORITY and (not scope.queue or ":" in queue):
        raise ChangeError(f"{queue!r}: priorities stand on queues; allowed is the name of a queue")
    scope = scope._replace(resource=resource or scope.resource)
    what = _called(cluster, scope)
    if limit_entry(scope.attributes(cluster.server_status), scope.resource, entity) == after:
        raise ChangeError(f"{entity[1]} already has {what}{show_limit(after)} in {scope.place}")
    change = _change(cluster, commands, scope, entity, after)
    edit = partial(_edit, scope=scope, entity=entity, after=after)
    notes = overcommitted(edit(cluster.server_status), scope.queue, scope.resource) if resource != PRIORITY else []
    return Operation(change.title, (change,), edit, notes=tuple(notes))


def import_quotas(cluster: ClusterView, commands: Commands, rows: Sequence[ReadQuota], source: str) -> Operation:
    """The operation that sets the quotas of these rows, read from the file ``source``; the others stay as they are.

    Rows that have their value already are left alone. Raises :class:`ChangeError` if nothing would change.
    """
    demand_supported(commands, "quota")
    changes: list[Change] = []
    edits: list[Edit] = []
    places: dict[tuple[str, str], None] = {}
    for row in rows:
        scope, entity = QuotaScope(row.limit.queue, row.limit.resource), row.limit.entity
        if limit_entry(scope.attributes(cluster.server_status), scope.resource, entity) == row.quota:
            continue
        changes.append(_change(cluster, commands, scope, entity, row.quota))
        edits.append(partial(_edit, scope=scope, entity=entity, after=row.quota))
        places[scope] = None
    if not changes:
        raise ChangeError(f"{source}: all of its {show_count(len(rows), 'quota')} are set already")

    def edit(server_status: ServerStatus) -> ServerStatus:
        for each in edits:
            server_status = each(server_status)
        return server_status

    after = edit(cluster.server_status)
    notes: list[Line] = [((f"  {safe(change.title)}", ""),) for change in changes[:_MOST_LINES]]
    if len(changes) > _MOST_LINES:
        notes.append(((f"  and {len(changes) - _MOST_LINES:,} more", "dim"),))
    for queue, resource in places:
        notes += overcommitted(after, queue, resource) if resource != PRIORITY else []
    if len(changes) < len(rows):
        notes.append(((f"{len(rows) - len(changes):,} of {len(rows):,} are set already", "dim"),))
    return Operation(f"set {show_count(len(changes), 'quota')}", tuple(changes), edit, notes=tuple(notes))


def _change(
    cluster: ClusterView, commands: Commands, scope: QuotaScope, entity: EntityKey, after: int | None
) -> Change:
    """The change of one entry from the value in the cluster view."""
    texts = scope.attributes(cluster.server_status)
    before = limit_entry(texts, scope.resource, entity)
    target = Target("queue", scope.queue) if scope.queue else Target("server", cluster.server_name)
    title = f"{_called(cluster, scope)}{entity[1]} {show_limit(before)} → {show_limit(after)} in {scope.place}"
    return commands.set_limit(target, texts, scope.resource, entity, after).titled(title)


def _called(cluster: ClusterView, scope: QuotaScope) -> str:
    """What is set, with a blank after it; empty for a quota of what the cluster counts."""
    if scope.resource == PRIORITY:
        return "priority "
    return "" if scope.resource == cluster.counted else f"{scope.resource} "


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
