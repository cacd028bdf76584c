"""Types of PBS's attributes: numbers, points in time and durations in seconds, sizes in KiB, or texts.

A resource's type comes from PBS's reference guide for built-in resources and from the server for others, the type of
any other attribute from the guide. Without a known type a text stays a text: a job's name may be ``12`` and a comment
``02:00:00``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Union

from policy.model.pbs_units import SIZES, UnitError, parse_duration_s, parse_size_kib
from tui.model.typed_attributes import Attributes

Typed = Union[str, int, float, None]

_OF_RESOURCES = frozenset({
    "Resource_List", "resources_used", "resources_available", "resources_assigned", "resources_default",
    "resources_min", "resources_max", "resources_released", "default_chunk",
})  # fmt: skip
_RESOURCE_SIZES = SIZES | {"pmem", "pvmem", "file"}
_RESOURCE_LENGTHS = frozenset({
    "walltime", "soft_walltime", "min_walltime", "max_walltime", "cput", "pcput",
})  # fmt: skip
_RESOURCE_NUMBERS = frozenset({
    "ncpus", "nodect", "mpiprocs", "ompthreads", "naccelerators", "nchunk", "nice", "cpupercent",
})  # fmt: skip
_MOMENTS = frozenset({
    "ctime", "mtime", "qtime", "etime", "stime", "obittime", "history_timestamp", "Execution_Time",
    "estimated.start_time", "last_used_time", "last_state_change_time", "reserve_start", "reserve_end",
})  # fmt: skip
_LENGTHS = frozenset({"eligible_time", "reserve_duration", "topjob_ineligible_time", "kill_delay"})
_NUMBERS = frozenset({
    "Priority", "Exit_status", "session_id", "substate", "run_count", "run_version", "queue_rank", "array_index",
    "total_jobs", "max_running", "max_user_run", "max_group_run", "max_queuable", "pcpus", "Port",
})  # fmt: skip
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(_RESOURCE_SIZES, "size"),
    **dict.fromkeys(_RESOURCE_LENGTHS, "length"),
    **dict.fromkeys(_RESOURCE_NUMBERS, "long"),
}


def typed(name: str, text: str | None, resources: Mapping[str, Attributes]) -> Typed:
    """An attribute's text as a value of its type; the text itself if the type is unknown or the text does not fit it.
    ``resources`` are the server's resources, with their ``type``."""
    if text is None:
        return None
    read = _READERS.get(_kind(name, resources))
    if read is not None:
        with contextlib.suppress(UnitError, ValueError):
            return read(text)
    return text


def _kind(name: str, resources: Mapping[str, Attributes]) -> str:
    if name in _MOMENTS or name in _NUMBERS:
        return "long"
    if name in _LENGTHS:
        return "length"
    group, dot, resource = name.partition(".")
    if not dot or group not in _OF_RESOURCES:
        return ""
    return _KINDS.get(resource) or resources.get(resource, {}).get("type", "")


def _float(text: str) -> float:
    number = float(text)
    # JSON has neither infinity nor NaN.
    if number - number != 0:
        raise ValueError(text)
    return number


_READERS: Mapping[str, Callable[[str], Typed]] = {
    "long": int,
    "float": _float,
    "size": parse_size_kib,
    "length": parse_duration_s,
}
