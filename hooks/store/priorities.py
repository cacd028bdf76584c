"""The priorities that pbsteer gave to jobs, with the jobs' own: the file from which they are put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hooks.pbs.status import read_whole
from hooks.store.state_dir import PRIORITIES, State

if TYPE_CHECKING:
    from hooks.pbs.status import Picture


class Changed(NamedTuple):
    """A job's priority as its user gave it, and those that pbsteer has set or was about to set."""

    own: int
    given: tuple[int, ...]


Priorities = Mapping[str, Changed]
"""Job to what was changed."""


def read_priorities(state: State) -> Priorities:
    """What earlier passes have changed; nothing where that cannot be read."""
    try:
        return {
            str(job_id): Changed(int(own), tuple(int(each) for each in given))
            for job_id, (own, given) in state.read_published(PRIORITIES).items()
        }
    except (TypeError, ValueError):
        return {}


def write_priorities(state: State, changed: Priorities) -> None:
    """Put them on disk. Raises OSError where the disk does not take it."""
    state.publish(PRIORITIES, {job_id: list(each) for job_id, each in changed.items()}, shared=False)


def with_own_priorities(picture: Picture, memory: Priorities) -> Picture:
    """The picture with the priorities that users gave, where it shows what pbsteer has set."""
    own = {
        job_id: {**picture.jobs[job_id], "Priority": str(changed.own)}
        for job_id, changed in memory.items()
        if job_id in picture.jobs and _priority(picture, job_id) in changed.given
    }
    return replace(picture, jobs={**picture.jobs, **own}) if own else picture


def _priority(picture: Picture, job_id: str) -> int:
    return read_whole(picture.jobs[job_id].get("Priority", ""), 0)
