"""The simulated server's refusals: PBS's error numbers and messages.

Numbers are those of PBS's `pbs_error.h`; messages are those of a running OpenPBS 23.06.06, including blanks at the end.
"""

from __future__ import annotations

UNKNOWN_JOB = 15001
UNDEFINED_ATTRIBUTE = 15002
READ_ONLY = 15003
INVALID_REQUEST = 15004
UNKNOWN_SIGNAL = 15013
BAD_VALUE = 15014
MODIFIED_WHILE_RUNNING = 15015
BAD_STATE = 15016
UNKNOWN_QUEUE = 15018
QUEUE_NOT_ENABLED = 15021
QUEUE_EXISTS = 15025
BUSY = 15027
PROTOCOL = 15031
UNKNOWN_RESOURCE = 15035
NOT_RERUNNABLE = 15038
REJECTED_BY_MOM = 15041
DUPLICATE = 15055
UNKNOWN_NODE = 15062
NODE_EXISTS = 15066
NO_SCHEDULER = 15099
HOOK_REJECTED = 15136
JOB_FINISHED = 15139
SCHEDULER_EXISTS = 15211
UNKNOWN_SCHEDULER = 15213
SCHEDULER_STAYS = 15214

_WORDS = {
    UNKNOWN_JOB: "Unknown Job Id",
    UNDEFINED_ATTRIBUTE: "Undefined attribute ",
    READ_ONLY: "Cannot set attribute, read only or insufficient permission ",
    INVALID_REQUEST: "Invalid request",
    UNKNOWN_SIGNAL: "Unknown/illegal signal name",
    BAD_VALUE: "Illegal attribute or resource value",
    MODIFIED_WHILE_RUNNING: "Cannot modify attribute while job running ",
    BAD_STATE: "Request invalid for state of job",
    UNKNOWN_QUEUE: "Unknown queue",
    QUEUE_NOT_ENABLED: "Queue is not enabled",
    QUEUE_EXISTS: "Queue already exists",
    BUSY: "Cannot delete busy object",
    UNKNOWN_RESOURCE: "Unknown resource",
    NOT_RERUNNABLE: "job is not rerunnable",
    REJECTED_BY_MOM: "Execution server rejected request",
    DUPLICATE: "Duplicate entry in list ",
    UNKNOWN_NODE: "Unknown node ",
    NODE_EXISTS: "Node name already exists",
    NO_SCHEDULER: "Could not contact Scheduler",
    JOB_FINISHED: "Job has finished",
    SCHEDULER_EXISTS: "Scheduler already exists",
    UNKNOWN_SCHEDULER: "Unknown Scheduler",
    SCHEDULER_STAYS: "Can not delete Scheduler",
}


class PbsError(Exception):
    """A request that the server refused. `code` is PBS's number, `text` its message and what that is about."""

    def __init__(self, code: int, about: str = "", text: str = "") -> None:
        self.code = code
        self.text = text or _WORDS[code] + (f" {about}" if about else "")
        super().__init__(self.text)
