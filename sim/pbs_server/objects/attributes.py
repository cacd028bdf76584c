"""The attributes of the simulated server's objects, and how each is written: order and forms of OpenPBS 23.06.06.

An object's attributes are a mapping from name to text, such as `resources_available.ncpus`; each text that is set
passes `check_value`, and is stored as PBS writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from policy.model.limit_attributes import LimitError, parse_entity, show_entity
from policy.model.pbs_units import UnitError, parse_duration_s, parse_size_kib
from sim.pbs_server.objects.errors import BAD_VALUE, UNDEFINED_ATTRIBUTE, UNKNOWN_RESOURCE, PbsError


class Kind(Enum):
    """How an attribute's text is read. RESOURCES and RESOURCE_LIMITS have one value for each resource."""

    FLAG = "flag"
    NUMBER = "number"
    TEXT = "text"
    LIMITS = "limits"
    STATE = "state"
    RESOURCES = "resources"
    RESOURCE_LIMITS = "resource limits"

    @property
    def by_resource(self) -> bool:
        """Whether the attribute has one value for each resource."""
        return self in (Kind.RESOURCES, Kind.RESOURCE_LIMITS)


class Attribute(NamedTuple):
    """One attribute: `writable` is False if only the server sets it; `saved` is True if `print` shows it."""

    name: str
    kind: Kind
    writable: bool = True
    saved: bool = True


Table = Mapping[str, Attribute]


def _table(*groups: tuple[Kind, str]) -> Table:
    """Attributes in order; a name followed by `!` is set only by the server, one by `?` by managers but omitted from
    `print`.
    """
    attributes = [
        Attribute(word.rstrip("!?"), kind, writable=not word.endswith("!"), saved=not word.endswith(("!", "?")))
        for kind, words in groups
        for word in words.split()
    ]
    return {attribute.name: attribute for attribute in attributes}


_FLAG, _NUMBER, _TEXT, _LIMITS = Kind.FLAG, Kind.NUMBER, Kind.TEXT, Kind.LIMITS
_RESOURCES, _RESOURCE_LIMITS = Kind.RESOURCES, Kind.RESOURCE_LIMITS

QUEUE: Table = _table(
    (_TEXT, "queue_type"), (_NUMBER, "Priority max_queuable total_jobs!"), (_TEXT, "state_count!"),
    (_NUMBER, "max_running"), (_LIMITS, "max_queued"), (_RESOURCE_LIMITS, "max_queued_res"),
    (_FLAG, "acl_user_enable"), (_TEXT, "acl_users"), (_RESOURCES, "resources_max resources_min resources_default"),
    (_NUMBER, "max_array_size"), (_TEXT, "comment"), (_FLAG, "acl_group_enable"), (_TEXT, "acl_groups"),
    (_RESOURCES, "default_chunk resources_available resources_assigned!"), (_NUMBER, "kill_delay"),
    (_NUMBER, "max_user_run max_group_run"), (_LIMITS, "max_run"), (_RESOURCE_LIMITS, "max_run_res"),
    (_LIMITS, "max_run_soft"), (_RESOURCE_LIMITS, "max_run_res_soft"), (_FLAG, "hasnodes!"),
    (_RESOURCES, "max_user_res max_group_res"), (_TEXT, "node_group_key"), (_NUMBER, "backfill_depth"),
    (_TEXT, "route_destinations"), (_FLAG, "enabled started"), (_LIMITS, "queued_jobs_threshold"),
    (_RESOURCE_LIMITS, "queued_jobs_threshold_res"), (_TEXT, "partition"),
)  # fmt: skip

SERVER: Table = _table(
    (_TEXT, "server_state! server_host!"), (_FLAG, "scheduling"), (_NUMBER, "max_running"), (_LIMITS, "max_queued"),
    (_RESOURCE_LIMITS, "max_queued_res"), (_LIMITS, "max_run"), (_RESOURCE_LIMITS, "max_run_res"),
    (_LIMITS, "max_run_soft"), (_RESOURCE_LIMITS, "max_run_res_soft"), (_NUMBER, "max_user_run max_group_run"),
    (_RESOURCES, "max_user_res max_group_res"), (_NUMBER, "total_jobs!"), (_TEXT, "state_count!"),
    (_FLAG, "acl_user_enable"), (_TEXT, "acl_users managers operators default_queue"), (_NUMBER, "log_events"),
    (_TEXT, "mailer mail_from"),
    (_FLAG, "query_other_jobs"),
    (_RESOURCES, "resources_available resources_default default_chunk resources_max resources_assigned!"),
    (_NUMBER, "scheduler_iteration"), (_TEXT, "comment"), (_FLAG, "flatuid resv_enable"),
    (_NUMBER, "node_fail_requeue max_array_size resend_term_delay"), (_FLAG, "node_group_enable"),
    (_TEXT, "node_group_key"), (_NUMBER, "pbs_license_min pbs_license_max pbs_license_linger_time"),
    (_TEXT, "license_count! pbs_version! job_sort_formula"), (_FLAG, "eligible_time_enable job_history_enable"),
    (_TEXT, "job_history_duration"), (_NUMBER, "max_concurrent_provision backfill_depth"),
    (_FLAG, "clear_topjob_estimates_enable"), (_LIMITS, "queued_jobs_threshold"),
    (_RESOURCE_LIMITS, "queued_jobs_threshold_res"), (_FLAG, "power_provisioning!"), (_NUMBER, "max_job_sequence_id"),
)  # fmt: skip

VNODE: Table = _table(
    (_TEXT, "Mom?"), (_NUMBER, "Port?"), (_TEXT, "pbs_version! ntype!"), (Kind.STATE, "state"), (_NUMBER, "pcpus!"),
    (_NUMBER, "Priority"), (_TEXT, "jobs!"), (_NUMBER, "max_running max_user_run max_group_run"), (_TEXT, "resv!"),
    (_RESOURCES, "resources_available resources_assigned!"), (_TEXT, "queue comment"),
    (_FLAG, "resv_enable no_multinode_jobs provision_enable"),
    (_TEXT, "sharing! license!"), (_TEXT, "partition"), (_NUMBER, "last_state_change_time! last_used_time!"),
)  # fmt: skip

SCHEDULER: Table = _table(
    (_TEXT, "sched_host sched_cycle_length"), (_FLAG, "throughput_mode"), (_TEXT, "job_run_wait partition"),
    (_TEXT, "sched_priv sched_log"), (_FLAG, "scheduling"), (_NUMBER, "scheduler_iteration"), (_TEXT, "comment state!"),
    (_FLAG, "do_not_span_psets only_explicit_psets"), (_NUMBER, "preempt_queue_prio"),
    (_TEXT, "preempt_prio preempt_order preempt_sort"),
    (_NUMBER, "log_events"), (_TEXT, "job_sort_formula job_sort_formula_threshold"), (_NUMBER, "server_dyn_res_alarm"),
)  # fmt: skip

JOB: Table = _table(
    (_TEXT, "Job_Name Job_Owner!"), (_RESOURCES, "resources_used!"), (_TEXT, "job_state! queue! server!"),
    (_TEXT, "Account_Name Checkpoint"), (_NUMBER, "ctime!"), (_TEXT, "depend Error_Path exec_host! exec_vnode!"),
    (_NUMBER, "Execution_Time"), (_TEXT, "Hold_Types Join_Path Keep_Files Mail_Points"), (_NUMBER, "mtime!"),
    (_TEXT, "Output_Path"), (_NUMBER, "Priority qtime!"), (_FLAG, "Rerunable"), (_RESOURCES, "Resource_List"),
    (_TEXT, "schedselect!"), (_NUMBER, "stime! obittime! session_id!"), (_TEXT, "jobdir!"), (_NUMBER, "substate!"),
    (_TEXT, "Variable_List euser! egroup! hashname!"), (_NUMBER, "queue_rank!"), (_TEXT, "queue_type! comment"),
    (_NUMBER, "etime! run_count Exit_status!"), (_TEXT, "Submit_arguments executable argument_list"), (_FLAG, "array!"),
    (_TEXT, "array_id!"), (_NUMBER, "array_index!"),
    (_TEXT, "array_state_count! array_indices_submitted! array_indices_remaining!"), (_RESOURCES, "estimated"),
    (_NUMBER, "history_timestamp!"), (_TEXT, "project"), (_NUMBER, "run_version!"), (_TEXT, "resources_released!"),
    (_NUMBER, "max_run_subjobs"), (_TEXT, "reserve_ID Submit_Host!"), (_FLAG, "topjob_ineligible?"),
)  # fmt: skip

BUILT_IN_RESOURCES: Mapping[str, tuple[str, str]] = {
    name: (kind, flag)
    for name, kind, flag in (
        ("cput", "long", "m"), ("mem", "size", "hqnm"), ("walltime", "long", "m"), ("soft_walltime", "long", "r"),
        ("min_walltime", "long", ""), ("max_walltime", "long", ""), ("ncpus", "long", "hqnm"),
        ("naccelerators", "long", "hqnm"), ("select", "string", ""), ("place", "string", "m"), ("nodes", "string", ""),
        ("nodect", "long", "qr"), ("arch", "string", "hm"), ("nchunk", "long", "hr"), ("vntype", "string_array", "h"),
        ("mpiprocs", "long", "hq"), ("ompthreads", "long", "h"), ("cpupercent", "long", "r"), ("energy", "float", "r"),
        ("file", "size", "m"), ("pmem", "size", "m"), ("vmem", "size", "hqnm"), ("pvmem", "size", "m"),
        ("nice", "long", "m"), ("pcput", "long", "m"), ("nodemask", "string", "rm"), ("hpm", "long", "qm"),
        ("ssinodes", "long", "m"), ("host", "string", "h"), ("vnode", "string", "h"), ("resc", "string_array", ""),
        ("software", "string", ""), ("site", "string", "m"), ("exec_vnode", "string", "r"),
        ("start_time", "long", "r"), ("partition", "string", "rm"), ("aoe", "string_array", "h"),
        ("eoe", "string_array", "h"), ("preempt_targets", "string_array", ""), ("accelerator", "boolean", "hm"),
        ("accelerator_model", "string", "hm"), ("accelerator_memory", "size", "hqnm"),
        ("accelerator_group", "string_array", "h"), ("pstate", "string", "m"), ("hbmem", "size", "hqnm"),
        ("pgov", "string", "m"), ("pcap_node", "long", "m"), ("pcap_accelerator", "long", "m"),
    )
}  # fmt: skip
"""Resource -> type and flags, as `pbs_statrsc` reports them for a fresh server."""

DURATIONS = frozenset({"cput", "walltime", "soft_walltime", "min_walltime", "max_walltime", "pcput"})
"""Resources of type long that PBS shows as hours, minutes and seconds."""

Resources = Mapping[str, tuple[str, str]]

_PRIORITIES = range(-1024, 1024)

_ENTRY = re.compile(r"\s*\[\s*\"?([^\]=\"]+)\"?\s*=\s*([^\]=]+?)\s*\]\s*(?:,|$)")
_YES, _NO = ("true", "t", "1", "y", "yes"), ("false", "f", "0", "n", "no")


@lru_cache(maxsize=4096)
def split_key(key: str) -> tuple[str, str]:
    """The attribute and the resource of a key such as `Resource_List.ncpus`; an empty resource where the key has
    none.
    """
    name, _, resource = key.partition(".")
    return name, resource


def find_attribute(table: Table, name: str) -> Attribute:
    """The attribute called `name`, ignoring case; PbsError if there is none."""
    attribute = table.get(name) or next((a for key, a in table.items() if key.lower() == name.lower()), None)
    if attribute is None:
        raise PbsError(UNDEFINED_ATTRIBUTE)
    return attribute


def check_value(attribute: Attribute, resource: str, text: str, resources: Resources) -> str:
    """The text as PBS keeps it. PbsError if it is not valid for the attribute or the resource."""
    about = f"{attribute.name}.{resource}" if resource else ""
    if attribute.kind.by_resource:
        if resource not in resources:
            raise PbsError(UNKNOWN_RESOURCE, about)
        if attribute.kind is Kind.RESOURCE_LIMITS:
            return show_entries(read_entries(text, about))
        return check_resource(resources[resource][0], resource, text, about)
    if attribute.kind is Kind.FLAG:
        return _check_flag(text, about)
    if attribute.kind is Kind.NUMBER:
        number = _check_number(text, about)
        if attribute.name == "Priority" and int(number) not in _PRIORITIES:
            raise PbsError(BAD_VALUE, about)
        return number
    if attribute.kind is Kind.LIMITS:
        return show_entries(read_entries(text, attribute.name))
    return text


def check_resource(kind: str, resource: str, text: str, about: str) -> str:
    """A resource's value as PBS keeps it, by the resource's type. PbsError with `about` in its message if it is not
    valid.
    """
    try:
        if resource in DURATIONS:
            return show_hours(parse_duration_s(text))
        if kind == "size":
            parse_size_kib(text)
            return text if text[-1:] in "bBwW" else f"{text}b"
        if kind == "float":
            return f"{float(text):g}"
    except (UnitError, ValueError) as error:
        raise PbsError(BAD_VALUE, about) from error
    if kind == "long":
        return _check_number(text, about)
    return _check_flag(text, about) if kind == "boolean" else text


def read_entries(text: str, about: str) -> dict[str, str]:
    """Entity -> value of a limit, `[u:alice=4],[g:chem=8]`. PbsError if it is invalid or names an entity twice."""
    entries: dict[str, str] = {}
    position = 0
    while position < len(text) or not entries:
        match = _ENTRY.match(text, position)
        try:
            entity = show_entity(parse_entity(match.group(1), about)) if match else ""
        except LimitError as error:
            raise PbsError(BAD_VALUE, about) from error
        if not match or entity in entries or not re.fullmatch(r"\d+[kmgtpKMGTP]?[bwBW]?", match.group(2)):
            raise PbsError(BAD_VALUE, about)
        entries[entity] = match.group(2)
        position = match.end()
    return entries


def show_entries(entries: Mapping[str, str]) -> str:
    """A limit as one text, its entries in PBS's order."""
    return ",".join(f"[{entity}={entries[entity]}]" for entity in sorted(entries))


def show_hours(seconds: float) -> str:
    """A duration as PBS writes it, `00:10:00`."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def _check_flag(text: str, about: str) -> str:
    if text.strip().lower() in _YES:
        return "True"
    if text.strip().lower() in _NO:
        return "False"
    raise PbsError(BAD_VALUE, about)


def _check_number(text: str, about: str) -> str:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()):
        raise PbsError(BAD_VALUE, about)
    return str(int(text))
