"""What only PBS's scheduler does, also while pbsteer starts the jobs: confirm reservations, and start their jobs."""

from __future__ import annotations

from hooks.jobs import is_running
from hooks.picture import Picture

_UNCONFIRMED, _RUNNING = "1", "5"
_NONE_LEFT = ("", "-")


def find_errands(picture: Picture) -> dict[str, str]:
    """What waits for PBS's scheduler: a key, another one when jobs have come, started or ended, and a sentence."""
    if not picture.reservations:
        return {}
    queues = {texts.get("queue", "") for texts in picture.reservations.values()}
    waiting: dict[str, list[str]] = {queue: [] for queue in queues}
    running = dict.fromkeys(queues, 0)
    for job_id, texts in picture.jobs.items():
        queue, state = texts.get("queue", ""), texts.get("job_state", "")
        if queue not in queues:
            continue
        if state == "Q" or (state == "B" and texts.get("array_indices_remaining", "") not in _NONE_LEFT):
            waiting[queue].append(job_id)
        running[queue] += is_running(texts)
    errands = {}
    for name, texts in picture.reservations.items():
        state, queue = texts.get("reserve_state", ""), texts.get("queue", "")
        jobs = waiting[queue]
        if state == _UNCONFIRMED:
            errands[name] = f"reservation {name} waits to be confirmed"
        elif state == _RUNNING and jobs:
            key = f"{name}: {len(jobs)} from {min(jobs)} to {max(jobs)}, {running[queue]} run"
            errands[key] = f"jobs of reservation {name} wait to be started ({len(jobs)})"
    return errands
