"""Placement sets: by which resources a queue's jobs are kept together, as PBS's scheduler finds them.

With ``node_group_enable`` the queue's ``node_group_key`` counts, else the server's; a job's own ``place=group=``
replaces both. The scheduler's ``only_explicit_psets`` and ``do_not_span_psets`` hold for all three (its function
``check_normal_node_path``; Administrator's Guide, "Placement Sets").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hooks.pbs.scheduler_object_of_queue import find_scheduler
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.job_request import Grouping, Request

_PLAIN = Grouping(())


class PlacementSets(NamedTuple):
    """How a queue's jobs are kept together: ``rules`` has the resources of the queue or the server (empty where there
    are none), and what holds for a job's own ``place=group=`` as well."""

    rules: Grouping = _PLAIN

    def apply(self, request: Request) -> Request:
        """The request within its own placement sets, else within those of its queue or the server, if any."""
        resources = self.rules.resources if request.group is None else request.group.resources
        return request.in_sets(self.rules._replace(resources=resources)) if resources else request


NO_SETS = PlacementSets()


def read_placement_sets(server_status: ServerStatus) -> Mapping[str, PlacementSets]:
    """The placement sets of each queue that has any, or whose scheduler has rules of its own for them."""
    server = server_status.server
    enabled = server.get("node_group_enable") == "True"
    found = {}
    for queue, texts in server_status.queues.items():
        scheduler = server_status.scheds.get(find_scheduler(server_status, queue) or "", {})
        key = (texts.get("node_group_key", "") or server.get("node_group_key", "")) if enabled else ""
        rules = Grouping(
            tuple(filter(None, map(str.strip, key.strip("\"'").split(",")))),
            has_rest=scheduler.get("only_explicit_psets") != "True",
            may_span=scheduler.get("do_not_span_psets") != "True",
        )
        if rules != _PLAIN:
            found[queue] = PlacementSets(rules)
    return found
