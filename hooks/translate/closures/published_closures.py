"""The closures of queues as a pass publishes them: when dedicated, prime or non-prime time closes each.

They come from files of the schedulers that root alone may read, so the console takes them from the last pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Queue, Window

Closed = Mapping[str, tuple[Window, ...]]
"""Queue to the windows in which it is closed; a queue that is never closed may be left out."""


def closed_to_data(queues: Iterable[Queue]) -> dict[str, list[list[Any]]]:
    """The windows of the queues that have some, as plain data; a window without an end has None there."""
    return {
        queue.name: [
            [window.start_s, _or_none(window.end_s), window.name, window.closed_to, window.past_end_s]
            for window in queue.closed
        ]
        for queue in queues
        if queue.closed
    }


def closed_from_data(data: object) -> Closed | None:
    """The windows by queue; None if this is no such data, as of a pass of another version."""
    if not isinstance(data, Mapping):
        return None
    try:
        return {str(queue): tuple(map(_window, windows)) for queue, windows in data.items()}
    except (TypeError, ValueError):
        return None


def _or_none(at_s: float) -> float | None:
    return at_s if math.isfinite(at_s) else None


def _window(fields: Iterable[Any]) -> Window:
    start_s, end_s, name, closed_to, past_end_s = fields
    end_s = UNLIMITED_S if end_s is None else float(end_s)
    return Window(float(start_s), end_s, str(name), closed_to=str(closed_to), past_end_s=float(past_end_s))
