"""How long the texts of an event's job are: those that passes read, and those that it is started with.

PBS takes a text of any length for each of them, and keeps it as long as the job exists. A job's comment is not among
them, since only managers and passes set it; its chunks have bounds of their own.
"""

from __future__ import annotations

from typing import Any

from hooks.pbs.job_attributes.job_ids_and_states import count_indices, find_last_count
from hooks.pbs.job_attributes.own_dependencies import own_dependencies
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.job_attributes.text_lengths import TextLengths, measure_texts

_READ = ("depend", "Job_Name", "Account_Name", "project", "Checkpoint", "group_list", "User_List")
STARTED_WITH = (
    "Variable_List", "Submit_arguments", "executable", "argument_list", "Output_Path", "Error_Path", "stagein",
    "stageout", "Mail_Users", "Shell_Path_List",
)  # fmt: skip


def read_text_lengths(job: Any) -> TextLengths:
    """The lengths of an event's job; at an alteration of what it changes."""
    return measure_texts(job, _READ, STARTED_WITH)


def read_lengths_before(job: Any) -> TextLengths:
    """The lengths of a job that is to be altered, as it was. What other users' jobs have added to its dependencies does
    not count: its owner could not shorten it."""
    lengths = read_text_lengths(job)
    return TextLengths(
        {**lengths.read, "depend": len(own_dependencies(read_attribute(job, "depend")))}, lengths.environment
    )


def count_subjobs(job: Any) -> int:
    """How many subjobs a submitted array has; 0 for a job that is none, and for an alteration of other things."""
    return count_indices(read_attribute(job, "array_indices_submitted"))


def read_last_count(job: Any) -> int:
    """The number at which PBS ends when it counts through a submitted array's indices; 0 for no array."""
    return find_last_count(read_attribute(job, "array_indices_submitted"))
