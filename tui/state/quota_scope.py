"""Where quotas stand, and on what: a queue, or the server for the whole cluster; and which resource.

Written ``QUEUE``, ``QUEUE:RESOURCE``, ``@server`` or ``@server:RESOURCE``: no queue's name has an @ or a colon.
"""

from __future__ import annotations

from typing import NamedTuple

from hooks.pbs.resources import PRIORITY
from hooks.pbs.status import Attributes, Picture
from tui.model.typed_attributes import SOFT_LIMIT, soft_limits
from tui.state.cluster_view import World, execution_queues

SERVER = "@server"


class QuotaScope(NamedTuple):
    """A queue, or the whole cluster where it is "", and a resource."""

    queue: str
    resource: str

    @property
    def place(self) -> str:
        """The queue's name as in a sentence, or the cluster."""
        return self.queue or "the whole cluster"

    def attributes(self, picture: Picture) -> Attributes:
        """The attributes of the queue or the server; none where the queue is not there."""
        return picture.queues.get(self.queue, {}) if self.queue else picture.server


def scope_of(world: World, text: str) -> QuotaScope:
    """The scope that a text names."""
    queue, _, resource = text.partition(":")
    return QuotaScope("" if queue == SERVER else queue, resource or world.counted)


def quota_scopes(world: World) -> list[str]:
    """Every execution queue, with the resources that it has further quotas on; then the server's, where it has some."""
    scopes: list[str] = []
    for queue in execution_queues(world):
        others = sorted(set(_resources(world.picture.queues[queue])) - {world.counted})
        scopes += [queue, *(f"{queue}:{resource}" for resource in others)]
    for resource in sorted(_resources(world.picture.server), key=lambda name: (name != world.counted, name)):
        scopes.append(SERVER if resource == world.counted else f"{SERVER}:{resource}")
    return scopes


def _resources(attributes: Attributes) -> list[str]:
    found = [name[len(SOFT_LIMIT) :] for name in attributes if name.startswith(SOFT_LIMIT)]
    return [resource for resource in found if resource != PRIORITY and soft_limits(attributes, resource)]
