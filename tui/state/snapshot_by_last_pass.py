"""The snapshot of a server status with what the last pass read in the schedulers' files, the order of jobs and when
queues are closed, so that the console's decisions agree with those of the next pass."""

from __future__ import annotations

from dataclasses import replace

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.snapshot import Known, Translation, translate
from policy import Settings
from policy.state.cluster_snapshot import Changes
from tui.backends.pass_journal import Passes


def translate_by_last_pass(
    server_status: ServerStatus, settings: Settings, passes: Passes, known: Known | None = None
) -> Translation:
    """The translation of a server status, its queues ordered and closed as the last pass found them; closed as far as
    the server shows where that is unknown."""
    found = translate(server_status, settings, passes.orders, known)
    closed = passes.closed
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
