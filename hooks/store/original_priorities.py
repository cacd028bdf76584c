"""The priorities that pbsteer gave to jobs, and the jobs' own: the file from which they are restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hooks.pbs.server_status_type_and_attributes import read_whole
from hooks.store.state_files import PRIORITIES, State

if TYPE_CHECKING:
    from hooks.pbs.server_status_type_and_attributes import ServerStatus


class Changed(NamedTuple):
    """A job's priority as its user gave it, and those that pbsteer has set or was about to set."""

    own: int
    given: tuple[int, ...]


Priorities = Mapping[str, Changed]
"""Job to what was changed."""


def read_priorities(state: State) -> Priorities:
    """What earlier passes have changed; empty if it cannot be read."""
    try:
        return {
            str(job_id): Changed(int(own), tuple(int(each) for each in given))
            for job_id, (own, given) in state.read_published(PRIORITIES).items()
        }
    except (TypeError, ValueError):
        return {}


def write_priorities(state: State, changed: Priorities) -> None:
    """Write them to disk. Raises OSError if that fails."""
    state.publish(PRIORITIES, {job_id: list(each) for job_id, each in changed.items()}, shared=False)


def with_own_priorities(server_status: ServerStatus, memory: Priorities) -> ServerStatus:
    """The server status with the users' own priorities wherever it shows one that pbsteer has set."""
    own = {
        job_id: {**server_status.jobs[job_id], "Priority": str(changed.own)}
        for job_id, changed in memory.items()
        if job_id in server_status.jobs and shown_priority(server_status, job_id) in changed.given
    }
    return replace(server_status, jobs={**server_status.jobs, **own}) if own else server_status


def shown_priority(server_status: ServerStatus, job_id: str) -> int:
    """The job's priority as the server shows it, whether the user or pbsteer has set it."""
    return read_whole(server_status.jobs[job_id].get("Priority", ""), 0)
