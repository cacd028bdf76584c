"""The raw status of a PBS server: its objects by name, and their attributes as text (``Resource_List.select``).

The reader and the simulated server produce it, :mod:`hooks.translate.snapshot` translates it. The attributes to read
are listed here, which makes reading thousands of jobs cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Attributes = Mapping[str, str]
Objects = Mapping[str, Attributes]

NAME = "name"
"""The key of the server's name among its own attributes."""

DEFAULT_SCHEDULER = "default"
"""The scheduler whose ``scheduling`` is the server's."""

SERVER_ATTRIBUTES: tuple[str, ...] = (
    "scheduling", "pbs_version", "server_state", "default_queue", "resources_available", "resources_assigned",
    "max_run", "max_run_res", "max_run_res_soft", "max_running", "max_user_run", "max_group_run", "max_user_res",
    "max_group_res", "node_group_enable", "node_group_key", "job_sort_formula", "resources_default", "default_chunk",
    "managers", "operators", "eligible_time_enable", "max_queued", "resources_max", "acl_user_enable", "acl_users",
)  # fmt: skip
QUEUE_ATTRIBUTES: tuple[str, ...] = (
    "queue_type", "enabled", "started", "Priority", "partition", "resources_available", "resources_assigned",
    "max_run", "max_run_res", "max_run_res_soft", "max_running", "max_user_run", "max_group_run", "max_user_res",
    "max_group_res", "node_group_key", "resources_default", "default_chunk", "max_queued", "resources_max",
    "resources_min", "acl_user_enable", "acl_users",
)  # fmt: skip
VNODE_ATTRIBUTES: tuple[str, ...] = (
    "state", "resources_available", "resources_assigned", "queue", "partition", "sharing", "jobs", "resv", "comment",
    "Priority", "max_running", "max_user_run", "max_group_run", "no_multinode_jobs", "provision_enable",
    "last_state_change_time",
)  # fmt: skip
JOB_ATTRIBUTES: tuple[str, ...] = (
    "job_state", "substate", "queue", "euser", "Job_Owner", "egroup", "project", "Priority", "Rerunable", "Job_Name",
    "Resource_List", "schedselect", "exec_vnode", "stime", "qtime", "ctime", "Execution_Time", "Hold_Types", "depend",
    "array_indices_remaining", "max_run_subjobs", "comment", "Checkpoint", "estimated",
    "resources_released", "reserve_ID", "topjob_ineligible",
)  # fmt: skip
"""Not ``run_count``: users may give a job any at its submission, so nothing may be decided by it."""
ENDED_ATTRIBUTES: tuple[str, ...] = (
    *JOB_ATTRIBUTES,
    "mtime",
    "obittime",
    "history_timestamp",
    "Exit_status",
    "resources_used",
    "run_count",
)
"""With ``run_count``, by which forecasts leave out runs that are the rest of an earlier one: a user who gives another
hides only runs of their own."""
USED: tuple[str, ...] = tuple(f"resources_used.{name}" for name in ("cput", "walltime", "mem", "gpupercent"))
"""What the console shows of the use of running jobs. PBS counts no GPU time; a site's own hook may set the last one."""
SCHED_ATTRIBUTES: tuple[str, ...] = (
    "scheduling", "partition", "sched_priv", "job_sort_formula", "state", "do_not_span_psets", "only_explicit_psets",
    "preempt_queue_prio", "preempt_prio", "sched_log", "log_events", "job_sort_formula_threshold",
)  # fmt: skip
RESERVATION_ATTRIBUTES: tuple[str, ...] = (
    "queue", "reserve_state", "reserve_substate", "reserve_start", "reserve_end", "resv_nodes", "Resource_List",
    "reserve_standing", "reserve_rrule", "reserve_index", "reserve_count", "reserve_execvnodes", "reserve_timezone",
    "partition", "reserve_retry", "Reserve_Owner", "egroup",
)  # fmt: skip

LONGEST_TEXT = 1000
"""Users' free texts are cut to this many characters in a server status; the server has them whole."""
_FREE_TEXTS = frozenset({"Job_Name", "Account_Name", "project", "comment"})
_ASKED = "Resource_List."
_STRUCTURE = frozenset(_ASKED + name for name in ("select", "nodes", "place", "schedselect", "pbsteer_asked"))

_PARTS = ("queues", "vnodes", "jobs", "resources", "scheds", "reservations")


def shorten_text(name: str, text: str) -> str:
    """The text; a free text that is too long is cut and ends in an ellipsis. A job's chunk requests stay whole."""
    if len(text) <= LONGEST_TEXT or not (name in _FREE_TEXTS or (name.startswith(_ASKED) and name not in _STRUCTURE)):
        return text
    return text[: LONGEST_TEXT - 1] + "…"


@dataclass(frozen=True)
class ServerStatus:
    """The server at ``time_s`` (seconds since 1970): its own attributes, and its objects by name.

    ``jobs`` has every job that has not ended: an array as one entry, and each of its running subjobs as its own.
    ``resources`` has ``type`` and ``flag`` of each resource, as ``qmgr -c "list resource"`` does.
    """

    time_s: float
    server: Attributes
    queues: Objects
    vnodes: Objects
    jobs: Objects
    resources: Objects
    scheds: Objects = field(default_factory=dict)
    reservations: Objects = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """As plain data for JSON."""
        return {
            "time_s": self.time_s,
            "server": dict(self.server),
            **{part: {name: dict(texts) for name, texts in getattr(self, part).items()} for part in _PARTS},
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ServerStatus:
        """Read back what :meth:`to_data` gave. Raises KeyError, TypeError or ValueError for anything else."""
        return cls(float(data["time_s"]), dict(data["server"]), **{part: dict(data[part]) for part in _PARTS})


_MOST_CHARACTERS = len(str(-(1 << 63)))
"""Those of the longest number of 64 bits, as PBS's numbers have."""


def read_whole(text: str, default: int) -> int:
    """A whole number with a sign, or the default if the text is none.

    A text longer than any number of PBS's is none: it would overflow what is computed from it.
    """
    if not text:
        return default
    try:
        return int(text) if len(text) <= _MOST_CHARACTERS else default
    except ValueError:
        return default
