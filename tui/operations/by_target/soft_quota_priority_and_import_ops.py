"""The change of soft quotas of queues or the server, and of priorities of queues, as typed or from a file.

Quotas live in PBS on the queue or the server as ``max_run_res_soft.ncpus``, priorities as the same limit on a resource
that no job requests (docs/policies.md, P1 and P2). A change sets one entry, or some of a file's that are alike; the
other entries stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Optional

from hooks.pbs.custom_resources import PRIORITY
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.model.limit_attributes import EntityKey, Limits, show_limits
from policy.model.pbs_units import show_count
from tui.backends.interface.commands_interface import Change, ChangeError, Commands, Target, demand_supported
from tui.backends.interface.read_value_before_and_after_change import show_limit
from tui.model.overcommitted_quotas import overcommitted
from tui.model.typed_attributes import SOFT_LIMIT, soft_limits
from tui.operations.operation_type_and_preview import Operation
from tui.operations.status_edits_for_preview import edit_queue, edit_server
from tui.quota_files.check_quota_rows_against_server import ReadQuota
from tui.state.cluster_view import ClusterView
from tui.state.typed_quota_scope_and_resource import SERVER, QuotaScope, scope_of
from tui.text.screen_line import Line, safe

Quotas = Mapping[EntityKey, Optional[int]]
"""The quotas that entities get; None removes an entity's entry."""

_MOST_LINES = 100
"""Quotas of an import that are listed one by one."""
_AT_ONCE = 50
"""Quotas of an import that one command sets: the server writes the whole limit to its database for each command."""


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
    before = _entries(cluster.server_status, scope)
    if before.get(entity) == after:
        raise ChangeError(f"{entity[1]} already has {_called(cluster, scope)}{show_limit(after)} in {scope.place}")
    quotas = {entity: after}
    (change,) = _changes(cluster, commands, scope, before, quotas)
    edit = partial(_edit, scope=scope, quotas=quotas)
    notes = overcommitted(edit(cluster.server_status), scope.queue, scope.resource) if resource != PRIORITY else []
    return Operation(change.title, (change,), edit, notes=tuple(notes))


def import_quotas(cluster: ClusterView, commands: Commands, rows: Sequence[ReadQuota], source: str) -> Operation:
    """The operation that sets the quotas of these rows, read from the file ``source``; the others stay as they are.

    Rows that have their value already are left alone. Raises :class:`ChangeError` if nothing would change.
    """
    demand_supported(commands, "quota")
    by_scope: dict[QuotaScope, Quotas] = {}
    titles: list[str] = []
    changes: list[Change] = []
    for scope, given in _by_scope(rows).items():
        before = _entries(cluster.server_status, scope)
        changed = {entity: quota for entity, quota in given.items() if before.get(entity) != quota}
        if changed:
            by_scope[scope] = changed
            titles += [_title(cluster, scope, before, *each) for each in changed.items()]
            changes += _changes(cluster, commands, scope, before, changed)
    count = sum(map(len, by_scope.values()))
    if not count:
        raise ChangeError(f"{source}: all of its {show_count(len(rows), 'quota')} are set already")

    def edit(server_status: ServerStatus) -> ServerStatus:
        for scope, quotas in by_scope.items():
            server_status = _edit(server_status, scope, quotas)
        return server_status

    after = edit(cluster.server_status)
    notes: list[Line] = [((f"  {safe(title)}", ""),) for title in titles[:_MOST_LINES]]
    if count > _MOST_LINES:
        notes.append(((f"  and {count - _MOST_LINES:,} more", "dim"),))
    for queue, resource in by_scope:
        notes += overcommitted(after, queue, resource) if resource != PRIORITY else []
    if count < len(rows):
        notes.append(((f"{len(rows) - count:,} of {len(rows):,} are set already", "dim"),))
    return Operation(f"set {show_count(count, 'quota')}", tuple(changes), edit, notes=tuple(notes))


def _by_scope(rows: Sequence[ReadQuota]) -> dict[QuotaScope, dict[EntityKey, int | None]]:
    found: dict[QuotaScope, dict[EntityKey, int | None]] = {}
    for row in rows:
        found.setdefault(QuotaScope(row.limit.queue, row.limit.resource), {})[row.limit.entity] = row.quota
    return found


def _entries(server_status: ServerStatus, scope: QuotaScope) -> Mapping[EntityKey, int]:
    return soft_limits(scope.attributes(server_status), scope.resource).entries


def _changes(
    cluster: ClusterView, commands: Commands, scope: QuotaScope, before: Mapping[EntityKey, int], quotas: Quotas
) -> list[Change]:
    """The changes of a scope's quotas, some at once: new, altered and removed ones in different commands, since one
    command could not undo a mixture."""
    target = Target("queue", scope.queue) if scope.queue else Target("server", cluster.server_name)
    texts = scope.attributes(cluster.server_status)
    alike: dict[tuple[bool, bool], list[tuple[EntityKey, int | None]]] = {}
    for entity, after in quotas.items():
        alike.setdefault((entity in before, after is None), []).append((entity, after))
    changes = []
    for found in alike.values():
        for first in range(0, len(found), _AT_ONCE):
            part = found[first : first + _AT_ONCE]
            title = _title(cluster, scope, before, *part[0])
            if len(part) > 1:
                count, names = show_count(len(part), "quota"), f"{part[0][0][1]} … {part[-1][0][1]}"
                title = f"{_called(cluster, scope)}{count} in {scope.place}, {names}"
            changes.append(commands.set_limits(target, texts, scope.resource, dict(part)).titled(title))
            texts = {**texts, SOFT_LIMIT + scope.resource: _with(texts, scope, dict(part))}
    return changes


def _title(
    cluster: ClusterView, scope: QuotaScope, before: Mapping[EntityKey, int], entity: EntityKey, after: int | None
) -> str:
    change = f"{show_limit(before.get(entity))} → {show_limit(after)}"
    return f"{_called(cluster, scope)}{entity[1]} {change} in {scope.place}"


def _called(cluster: ClusterView, scope: QuotaScope) -> str:
    """What is set, with a blank after it; empty for a quota of what the cluster counts."""
    if scope.resource == PRIORITY:
        return "priority "
    return "" if scope.resource == cluster.counted else f"{scope.resource} "


def _with(texts: Attributes, scope: QuotaScope, quotas: Quotas) -> str:
    """The limit with these quotas set or removed."""
    changed = {**soft_limits(texts, scope.resource).entries, **quotas}
    return show_limits(Limits({entity: limit for entity, limit in changed.items() if limit is not None}))


def _edit(server_status: ServerStatus, scope: QuotaScope, quotas: Quotas) -> ServerStatus:
    texts = {SOFT_LIMIT + scope.resource: _with(scope.attributes(server_status), scope, quotas)}
    return edit_queue(server_status, scope.queue, texts) if scope.queue else edit_server(server_status, texts)


def check_scope(cluster: ClusterView, text: str) -> str:
    """The text, if its queue is on the server or it names the server itself. Raises :class:`ChangeError` otherwise."""
    queue = text.partition(":")[0]
    if queue != SERVER and queue not in cluster.server_status.queues:
        there = ", ".join([*sorted(cluster.server_status.queues), SERVER])
        raise ChangeError(f"queue {queue!r}: the server has {there}; QUEUE:RESOURCE names another resource")
    return text
