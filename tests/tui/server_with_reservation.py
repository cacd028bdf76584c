"""The scripted server with a reservation, its queue and two jobs there."""

from __future__ import annotations

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from tests.tui.scripted_server import NOON_S, a_job, changed, running, with_job

BEGINS_S, UNTIL_S = NOON_S + 600, NOON_S + 4200
WAITS, RUNS = "21.hpc1", "22.hpc1"


def with_reservation(server_status: ServerStatus, **texts: str) -> ServerStatus:
    """``S13`` of adm, confirmed and not begun unless ``texts`` say otherwise; its queue is stopped until it begins."""
    reservation = {
        "queue": "S13",
        "reserve_state": "2",
        "reserve_substate": "2",
        "reserve_start": str(int(BEGINS_S)),
        "reserve_end": str(int(UNTIL_S)),
        "resv_nodes": "(v2:ncpus=4)",
        "Reserve_Owner": "adm@host",
        **texts,
    }
    begun = str(reservation["reserve_state"] == "5")
    queue = {"queue_type": "Execution", "enabled": "True", "started": begun}
    server_status = changed(
        server_status,
        reservations={"S13.hpc1": reservation},
        queues={**server_status.queues, "S13": queue},
    )
    if reservation["reserve_state"] == "5":
        server_status = with_job(server_status, RUNS, running("carol", 1, "v2", queue="S13"))
    return with_job(server_status, WAITS, a_job("carol", 1, queue="S13"))
