"""What stopping or starting a queue means for the jobs that wait there: they can no longer start, or they can again."""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.model.pbs_units import show_count
from tui.operations.operation_type_and_preview import CONSOLE
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, safe

_NONE: Mapping[str, int] = {}


def stopped_lines(cluster: ClusterView, after: ServerStatus, before_verb: str = CONSOLE) -> list[Line]:
    """A line for each queue that is stopped or started by the change; ``after`` is the server status as it would be,
    ``before_verb`` what the user types before a verb."""
    lines: list[Line] = []
    for queue, texts in after.queues.items():
        was, is_to_be = _is_started(cluster.server_status.queues.get(queue, {})), _is_started(texts)
        if was == is_to_be:
            continue
        count = cluster.counts.queue_states.get(queue, _NONE).get("Q", 0)
        waiting, waits = show_count(count, "job"), "waits" if count == 1 else "wait"
        if is_to_be:
            lines.append(((safe(f"{waiting} that {waits} in {queue} can start again"), "good"),))
        else:
            until = f"{waiting} that {waits} in {queue} cannot start until {before_verb}start {queue}"
            lines.append(((safe(until), "warn"),))
    return lines


def _is_started(queue: Attributes) -> bool:
    return queue.get("started", "False") == "True"
