"""A quota scope: a queue, or the server for the whole cluster, and a resource.

Written ``QUEUE``, ``QUEUE:RESOURCE``, ``@server`` or ``@server:RESOURCE``: queue names contain neither @ nor a colon.
"""

from __future__ import annotations

from typing import NamedTuple

from hooks.pbs.custom_resources import PRIORITY
from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from tui.model.typed_attributes import resources_with_quotas
from tui.state.cluster_view import ClusterView, execution_queues

SERVER = "@server"


class QuotaScope(NamedTuple):
    """A queue (empty: the whole cluster) and a resource."""

    queue: str
    resource: str

    @property
    def place(self) -> str:
        """The queue's name, or a phrase for the whole cluster."""
        return self.queue or "the whole cluster"

    def attributes(self, server_status: ServerStatus) -> Attributes:
        """The attributes of the queue or the server; empty if there is no such queue."""
        return server_status.queues.get(self.queue, {}) if self.queue else server_status.server


def scope_of(cluster: ClusterView, text: str) -> QuotaScope:
    """The scope that a text names."""
    queue, _, resource = text.partition(":")
    return QuotaScope("" if queue == SERVER else queue, resource or cluster.counted)


def quota_scopes(cluster: ClusterView) -> list[str]:
    """Each execution queue, and with each further resource that has quotas there or planned ones; then the server's, if
    it has any."""
    scopes: list[str] = []
    planned: dict[str, set[str]] = {}
    for each in cluster.passes.quota_plan.quotas:
        if each.is_live and each.entry.limit.resource != PRIORITY:
            planned.setdefault(each.entry.limit.queue, set()).add(each.entry.limit.resource)
    for queue in execution_queues(cluster):
        resources = {*resources_with_quotas(cluster.server_status.queues[queue]), *planned.get(queue, ())}
        scopes += [queue, *(f"{queue}:{resource}" for resource in sorted(resources - {cluster.counted}))]
    on_server = {*resources_with_quotas(cluster.server_status.server), *planned.get("", ())}
    for resource in sorted(on_server, key=lambda name: (name != cluster.counted, name)):
        scopes.append(SERVER if resource == cluster.counted else f"{SERVER}:{resource}")
    return scopes
