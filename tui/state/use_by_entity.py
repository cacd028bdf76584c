"""What each user, group and project has in use now, by queue, for the trends of the last day.

Groups, projects and all together are counted only where some quota is for these, as passes do
(:mod:`hooks.record.add_pass_to_day_of_activity`).
"""

from __future__ import annotations

from hooks.pbs.server_status_type_and_attributes import Attributes
from hooks.record.hourly_use import Entity
from policy.model.limit_attributes import ALL
from tui.model.typed_attributes import SOFT_LIMIT
from tui.state.cluster_view import ClusterView


def use_by_entity(cluster: ClusterView) -> dict[Entity, int]:
    """The amounts in use of the resource that quotas count, by entity, without those that use nothing."""
    counts, status = cluster.counts, cluster.server_status
    found = {(queue, "u", name): use.cores for (queue, name), use in counts.users.items() if use.cores}
    of_server = _kinds_in(status.server)
    for kind, uses in (("g", counts.groups), ("p", counts.projects)):
        queues = {name for name, queue in status.queues.items() if kind in of_server | _kinds_in(queue)}
        found.update({(queue, kind, name): use.cores for (queue, name), use in uses.items() if queue in queues})
    queues = {name for name, queue in status.queues.items() if "o" in of_server | _kinds_in(queue)}
    for (queue, _), use in counts.users.items():
        if queue in queues and use.cores:
            entity = (queue, *ALL)
            found[entity] = found.get(entity, 0) + use.cores
    return found


def _kinds_in(attributes: Attributes) -> set[str]:
    """The kinds of entities that the quotas of a queue or of the server name."""
    texts = [text for name, text in attributes.items() if name.startswith(SOFT_LIMIT)]
    return {kind for kind in "gpo" if any(f"[{kind}:" in text or f'["{kind}:' in text for text in texts)}
