"""The snapshot of a server status with the closures of queues that the last pass read in the schedulers' files, so that
the console's decisions agree with those of the next pass."""

from __future__ import annotations

from dataclasses import replace

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.closures.published_closures import Closed
from hooks.translate.snapshot import Known, Translation, translate
from policy import Settings
from policy.state.cluster_snapshot import Changes


def translate_with_closures(
    server_status: ServerStatus, settings: Settings, closed: Closed | None, known: Known | None = None
) -> Translation:
    """The translation of a server status, its queues closed as in ``closed``; as far as the server shows where that is
    None."""
    found = translate(server_status, settings, known=known)
    if closed is None:
        return found
    snapshot = found.snapshot
    queues = [
        replace(queue, closed=closed.get(name, ()))
        for name, queue in snapshot.cluster().queues.items()
        if queue.closed != closed.get(name, ())
    ]
    if not queues:
        return found
    return found._replace(snapshot=snapshot.apply(Changes(server_status.time_s, queues=queues)))
