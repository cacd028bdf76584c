"""Statuses of a server with driven queues, and what the passes do about their schedulers."""

from __future__ import annotations

from hooks.control.pbs_scheduler.scheduler_switch import (
    Assignment,
    Switched,
    assign_schedulers,
    switch,
)
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_files import State
from hooks.translate.queues import read_modes
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import queue, server_status
from tests.hooks.stand_in import pbs_ifl

NOTHING = Switched()


def sched(scheduling: str, partition: str = "pbs-default", state: str = "idle") -> dict[str, str]:
    return {"scheduling": scheduling, "partition": partition, "state": state}


def see(scheduling: str, mode: str = "drive", state: str = "idle", **queues: dict[str, str]) -> ServerStatus:
    """A server whose default scheduler is on, or off as pbsteer switches it: the server's own value is True."""
    return server_status(
        queues={"workq": queue(mode), **queues},
        scheds={"default": sched(scheduling, state=state)},
        server={"name": "server", "scheduling": "True"},
    )


def assignment_of(seen: ServerStatus, before: Switched = NOTHING, refused: tuple[str, ...] = ()) -> Assignment:
    return assign_schedulers(seen, read_modes(seen, Settings()), refused, before)


def calls() -> list[list[str]]:
    return [call for call in pbs_ifl.CALLS if call[0] == "scheduling"]


def apply(assignment: Assignment, before: Switched, state: State, scheduling: str = "True") -> list[str]:
    """Switch as assigned while the server's own ``scheduling`` is this one, which it was not when the pass read it if
    that is False."""
    pbs_ifl.WORLD["server"] = {"name": "server", "scheduling": scheduling}
    with Connection(pbs_ifl) as connection:
        return switch(connection, see("True"), assignment, before, state)
