"""The change of one soft quota of a queue or the server, or of one priority of a queue, from what a user typed.

Quotas live in PBS on the queue or the server as ``max_run_res_soft.ncpus``, priorities as the same limit on a resource
that no job requests (docs/policies.md, P1 and P2). One entry is set at a time; the other entries stay as they are.
"""

from __future__ import annotations

from functools import partial

from hooks.pbs.custom_resources import PRIORITY
from hooks.pbs.raw_server_status import ServerStatus
from policy.model.limit_attributes import EntityKey, show_limits
from tui.backends.commands_interface import ChangeError, Commands, Target, demand_supported
from tui.backends.readback import show_limit
from tui.model.overcommitted_quotas import overcommitted
from tui.model.typed_attributes import SOFT_LIMIT, limit_entry, soft_limits
from tui.operations.operation_changes import Operation
from tui.operations.status_edits_for_preview import edit_queue, edit_server
from tui.state.cluster_view import ClusterView
from tui.state.quota_scope_queue_or_server import SERVER, QuotaScope, scope_of

MOST_CORES = 10**9
_KINDS = ("u", "g", "p", "o")


def parse_quota(text: str, what: str = "quota") -> int | None:
    """The number of cores, or the priority, in the text; None for ``none``. Raises :class:`ChangeError`."""
    stripped = text.strip().replace(",", "").replace("_", "")
    if stripped.lower() == "none":
        return None
    if not (stripped.isascii() and stripped.isdigit()) or int(stripped) > MOST_CORES:
        raise ChangeError(f"{what} {text.strip()!r}: allowed is a whole number from 0 to {MOST_CORES:,}, or none")
    return int(stripped)


def parse_entity(commands: Commands, text: str) -> EntityKey:
    """The entity of a typed name: a user, or ``g:NAME`` for a group, ``p:NAME`` for a project, ``o:NAME`` for all.

    Raises :class:`ChangeError` for a name that the manager does not accept.
    """
    kind, colon, name = text.partition(":")
    entity = (kind, name) if colon and kind in _KINDS else ("u", text)
    commands.check_name(entity[1])
    return entity


def set_quota(
    cluster: ClusterView, commands: Commands, queue: str, entity: EntityKey, after: int | None, resource: str = ""
) -> Operation:
    """The operation that sets an entity's entry to ``after`` (None: removes it), from the value in the cluster view.

    ``queue`` names a scope (:mod:`tui.state.quota_scope_queue_or_server`), ``resource`` replaces the scope's own
    resource if not empty. Raises :class:`ChangeError` if nothing would change.
    """
    demand_supported(commands, "user-priority" if resource == PRIORITY else "quota")
    scope = scope_of(cluster, check_scope(cluster, queue))
    if resource == PRIORITY and (not scope.queue or ":" in queue):
        raise ChangeError(f"{queue!r}: priorities stand on queues; allowed is the name of a queue")
    scope = scope._replace(resource=resource or scope.resource)
    before = limit_entry(scope.attributes(cluster.server_status), scope.resource, entity)
    what = "priority " if resource == PRIORITY else "" if scope.resource == cluster.counted else f"{scope.resource} "
    if before == after:
        raise ChangeError(f"{entity[1]} already has {what}{show_limit(after)} in {scope.place}")
    target = Target("queue", scope.queue) if scope.queue else Target("server", cluster.server_name)
    texts = scope.attributes(cluster.server_status)
    change = commands.set_limit(target, texts, scope.resource, entity, after).titled(
        f"{what}{entity[1]} {show_limit(before)} → {show_limit(after)} in {scope.place}"
    )
    edit = partial(_edit, scope=scope, entity=entity, after=after)
    notes = overcommitted(edit(cluster.server_status), scope.queue, scope.resource) if resource != PRIORITY else []
    return Operation(change.title, (change,), edit, notes=tuple(notes))


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
