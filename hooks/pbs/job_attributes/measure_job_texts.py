"""How long the texts of an event's job are: those that passes read, and those that it is started with.

PBS takes a text of any length for each of them, and keeps it as long as the job exists. A job's comment is not among
them, since only managers and passes set it; its chunks have bounds of their own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hooks.pbs.job_attributes.job_ids_and_states import count_indices
from hooks.pbs.job_attributes.resource_list import read_lengths

_READ = ("depend", "Job_Name", "Account_Name", "project", "Checkpoint", "group_list", "User_List")
_STARTED_WITH = (
    "Variable_List", "Submit_arguments", "executable", "argument_list", "Output_Path", "Error_Path", "stagein",
    "stageout", "Mail_Users", "Shell_Path_List",
)  # fmt: skip


class TextLengths(NamedTuple):
    """Lengths in characters: ``read`` by resource or attribute, of what passes read; ``environment`` by attribute, of
    what a job is started with."""

    read: dict[str, int]
    environment: dict[str, int]

    def over(self, before: TextLengths) -> TextLengths:
        """The lengths of a job after an alteration with these, which had those ``before``."""
        return TextLengths({**before.read, **self.read}, {**before.environment, **self.environment})


def read_text_lengths(job: Any) -> TextLengths:
    """The lengths of an event's job; at an alteration of what it changes."""
    attributes = {name: len(text) for name in _READ if (text := read_attribute(job, name))}
    environment = {name: len(text) for name in _STARTED_WITH if (text := read_attribute(job, name))}
    return TextLengths({**read_lengths(job.Resource_List), **attributes}, environment)


def read_attribute(job: Any, name: str) -> str:
    """An attribute of an event's job; empty if it has none, or if this version of PBS does not know it."""
    value = getattr(job, name, None)
    return "" if value is None else str(value)


def count_subjobs(job: Any) -> int:
    """How many subjobs a submitted array has; 0 for a job that is none, and for an alteration of other things."""
    return count_indices(read_attribute(job, "array_indices_submitted"))
