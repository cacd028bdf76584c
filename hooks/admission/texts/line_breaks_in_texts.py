"""Refuses a job or a reservation with a line break in a text that PBS writes into its server's log, or into its
accounting log, as it is.

PBS's own commands send none, but its server accepts them from other programs. A text of several lines could hold
records of anybody's jobs or changes, and passes, the audit, ``simulate`` and ``tune`` read these files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.pbs.job_attributes.resource_list import read_all

_OF_JOBS = ("Job_Name", "Account_Name", "project", "depend", "Checkpoint", "group_list", "User_List")
_ALTERED = (
    "Submit_arguments", "executable", "argument_list", "Output_Path", "Error_Path", "Join_Path", "Keep_Files",
    "stagein", "stageout", "Mail_Users", "Mail_Points", "Shell_Path_List", "credential_id", "tolerate_node_failures",
)  # fmt: skip
"""An alteration's record in the accounting log has every attribute that it names; that of a submission has not. Where a
modifyjob hook is enabled PBS alters no variables, and gives the hook a copy of those that the job has."""
_VARIABLES = ("Variable_List",)
_OF_RESERVATIONS = (
    "Reserve_Name", "Account_Name", "project", "reserve_rrule", "reserve_timezone", "Mail_Users", "Authorized_Users",
    "Authorized_Groups", "Authorized_Hosts", "group_list", "User_List",
)  # fmt: skip
_NAMES = frozenset({"Job_Name", "Reserve_Name"})


def refuse_line_breaks(job: Any, *, altered: bool) -> str:
    """Why an event's job is refused; empty if no such text of it has a line break."""
    return _refuse(job, (*_OF_JOBS, *_ALTERED) if altered else _OF_JOBS)


def refuse_line_breaks_of_variables(job: Any) -> str:
    """Why an alteration is refused for which PBS gives the hook no original job, and so the variables of the request;
    empty if these have no line break."""
    return _refuse(job, _VARIABLES)


def refuse_line_breaks_of_reservation(reservation: Any) -> str:
    """Why an event's reservation is refused; empty if no such text of it has a line break."""
    return _refuse(reservation, _OF_RESERVATIONS)


def _refuse(subject: Any, names: Iterable[str]) -> str:
    for name in names:
        if _breaks(read_attribute(subject, name)):
            return f"its {'name' if name in _NAMES else name} has a line break"
    for name, text in read_all(subject.Resource_List).items():
        if _breaks(text):
            return f"its resource {name} has a line break"
    return ""


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
