"""A running subjob as a job of its own attributes: its array may have been altered since the subjob started.

The quotas, classes and resources that it uses are those that it was started with. All else, above all the id by which
subjobs belong together, is its array's.
"""

from __future__ import annotations

from typing import Callable

from hooks.pbs.server_status_type_and_attributes import Attributes
from policy.model.jobs_runs_vnodes_queues import Job

_OWN = ("queue", "euser", "Job_Owner", "egroup", "project", "Rerunable", "Priority", "schedselect")
"""What counts of a subjob itself, beside the resources that it asks for."""

ReadJob = Callable[[str, Attributes], Job]


class Subjobs:
    """Reads the jobs of running subjobs. ``read`` reads one job or array; those with equal texts are read once."""

    def __init__(self, read: ReadJob) -> None:
        self._read = read
        self._jobs: dict[tuple[str, tuple[tuple[str, str], ...]], Job] = {}
        self._arrays: dict[str, tuple[tuple[str, str], ...]] = {}

    def read(self, array_id: str, texts: Attributes, array: Job | None, of_array: Attributes) -> Job:
        """The job of a subjob with these attributes. ``array``: its array, None where that is gone, and the array's
        attributes."""
        own = _own_texts(texts)
        if array_id not in self._arrays:
            self._arrays[array_id] = _own_texts(of_array)
        if array is not None and own == self._arrays[array_id]:
            return array
        found = self._jobs.get((array_id, own))
        if found is None:
            found = self._read(array_id, texts)
            if array is not None:
                found = array._replace(
                    user=found.user,
                    group=found.group,
                    project=found.project,
                    queue=found.queue,
                    request=found.request,
                    estimate_s=found.estimate_s,
                    job_wide=found.job_wide,
                    rerunable=found.rerunable,
                    priority=found.priority,
                    own_priority=found.own_priority,
                )
            self._jobs[array_id, own] = found
        return found


def _own_texts(texts: Attributes) -> tuple[tuple[str, str], ...]:
    requested = [(name, text) for name, text in texts.items() if name.startswith("Resource_List.")]
    return tuple(sorted(requested)) + tuple((name, texts.get(name, "")) for name in _OWN)
