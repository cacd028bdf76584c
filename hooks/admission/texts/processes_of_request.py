"""Refuses a job or a reservation with more processes than PBS's MoMs can count, or with chunks in the old form that
would end PBS's server, in every mode.

Processes are named in ``select`` (:func:`policy.eligibility.request_text_limits.find_excess`), as ``ppn`` of ``nodes``,
as the resource ``mpiprocs`` of the whole job, and in texts of which PBS makes a chunk.
"""

from __future__ import annotations

from typing import Any

from hooks.pbs.job_attributes.read_resource_list_value import read_value
from hooks.pbs.job_attributes.resource_list import is_for_chunks, read_all
from policy.eligibility.processes_of_select import read_count
from policy.eligibility.request_text_limits import (
    find_hidden_processes,
    find_many_processes,
    find_unsafe_old_form,
)
from policy.settings.settings_of_server_and_passes import SubmissionSettings


def refuse_many_processes(resources: Any, bounds: SubmissionSettings) -> str:
    """Why an event's job or reservation with this ``Resource_List`` is refused; empty if it is within the bounds."""
    nodes, processes = read_value(resources, "nodes"), read_value(resources, "mpiprocs")
    excess = find_unsafe_old_form(nodes, bounds) if nodes else ""
    excess = excess or (find_many_processes(read_count(processes), bounds) if processes else "")
    others = ((name, text) for name, text in read_all(resources).items() if not is_for_chunks(name))
    return excess or next(filter(None, (find_hidden_processes(*each) for each in others)), "")
