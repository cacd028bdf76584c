"""The fields of an accounting record, typed, or the cause for which the record is left out.

PBS quotes account, project and resource values that contain a space, escapes nothing, and writes the job's name
unquoted, so a quoted value ends where a quote is followed by the next key (OpenPBS, src/server/accounting.c, acct_job).
Torque's records are read too (TORQUE Administrator Guide, "Accounting Records").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

from hooks.pbs.custom_resources import APPLICATION
from hooks.pbs.files_and_output.slots_of_exec_host import slots_of_exec_host
from policy.model.allocation import parse_exec_vnode
from policy.model.job_request import RequestError, parse_request
from policy.model.pbs_units import UnitError, parse_duration_s

_NEXT = rb"(?=[ ]+[A-Za-z_][\w.-]*=|\s*\Z)"
_JOB_NAME = rb"jobname=[^ ]*"
_QUOTED = rb"\"(.*?)\"" + _NEXT + rb"|'(.*?)'" + _NEXT
_FIELD = re.compile(
    rb"(?:(?<=\s)|\A)(?:" + _JOB_NAME + rb"|([A-Za-z_][\w.-]*)=(?:" + _QUOTED + rb"|([^ ]*)))", re.DOTALL
)
_APPLICATION = f"Resource_List.{APPLICATION}".encode("ascii")
_READ = frozenset(
    {
        b"user", b"group", b"ctime", b"qtime", b"etime", b"start", b"end", b"Exit_status", b"exec_vnode",
        b"Resource_List.ncpus", b"Resource_List.select", b"Resource_List.walltime",
        b"resource_assigned.ncpus", b"resources_used.ncpus", b"run_count", _APPLICATION,
        b"owner", b"exec_host", b"start_count",
    }
)  # fmt: skip
_VNODE = re.compile(rb"[(+]([^():+]+)")
_WHOLE = re.compile(rb"[0-9]{1,18}")
_SIGNED = re.compile(rb"-?[0-9]{1,18}")
_MOST_CORES = 10**11
_LONGEST_S = 3_155_760_000  # a hundred years
KILLED_AT_LIMIT = MappingProxyType(
    {-24: "NCPUS_BURST", -25: "NCPUS_SUM", -26: "VMEM", -27: "MEM", -28: "CPUT", -29: "WALLTIME"}
)
"""The limits for which MoM kills a job, as ``JOB_EXEC_KILL_*`` in PBS's ``job.h`` names them, by ``Exit_status``."""
_KILLED_AT_LIMIT_BY_TORQUE = frozenset((-10, -11, -12))
"""The same in Torque: ``JOB_EXEC_OVERLIMIT_*`` in its ``pbs_job.h``. In PBS these numbers mean other things."""
# A stamp is local time and the other times are not: they differ by no more than the time zones of the world and some
# slack.
_CLOCKS_APART_S = 26 * 3600


class SenselessError(Exception):
    """A record that is left out; its text is the cause under which it is counted."""


@dataclass(frozen=True)
class Fields:
    """A job as in one record. Times are seconds since 1970; None means that the record has no such field.

    `cores` are those that the job took: the requested ones, or all cores of its vnodes if it had them to itself.
    `application` is what the job named for striping; `run_count` how often PBS has tried to run it, and Torque
    has run it. `came_to_run` is False where the exit status says that the job's program was not run to an end or a
    limit.
    """

    user: str
    group: str
    created_s: int | None
    queued_s: int | None
    eligible_s: int | None
    start_s: int | None
    end_s: int | None
    cores: int | None
    walltime_s: int | None
    exit_status: int | None
    vnodes: tuple[str, ...]
    application: str = ""
    run_count: int | None = None
    came_to_run: bool = True


def read_fields(text: bytes) -> Fields:
    """The fields of a Q, S, E or R record. Raises SenselessError."""
    fields = _split(text)
    walltime = fields.get(b"Resource_List.walltime")
    status, runs = fields.get(b"Exit_status", b""), fields.get(b"run_count", fields.get(b"start_count", b""))
    slots = _slots(fields)
    exit_status = int(status) if _SIGNED.fullmatch(status) else None
    at_limit = _KILLED_AT_LIMIT_BY_TORQUE if slots else KILLED_AT_LIMIT
    return Fields(
        user=_text(fields.get(b"user", b"")),
        group=_text(fields.get(b"group", b"")),
        created_s=_time_s(fields, b"ctime"),
        queued_s=_time_s(fields, b"qtime"),
        eligible_s=_time_s(fields, b"etime"),
        start_s=_time_s(fields, b"start"),
        end_s=_time_s(fields, b"end"),
        cores=sum(slots.values()) or _cores(fields),
        walltime_s=None if walltime is None else _duration_s(walltime),
        exit_status=exit_status,
        vnodes=tuple(slots or map(_text, _VNODE.findall(fields.get(b"exec_vnode", b"")))),
        application=_text(fields.get(_APPLICATION, b"")),
        run_count=int(runs) if _WHOLE.fullmatch(runs) else None,
        came_to_run=exit_status is None or exit_status >= 0 or exit_status in at_limit,
    )


def check_clock(stamp_s: int, time_s: int) -> None:
    """Raise SenselessError if a record's stamp and the time of its event cannot be the same moment."""
    if abs(stamp_s - time_s) > _CLOCKS_APART_S:
        raise SenselessError("its times are days away from the record's own")


def _split(text: bytes) -> dict[bytes, bytes]:
    """The values of the keys in `_READ`."""
    fields: dict[bytes, bytes] = {}
    for key, value in _quoted_pairs(text) if b'"' in text or b"'" in text else _plain_pairs(text):
        if key in _READ:
            if key in fields:
                raise SenselessError("a field given twice")
            fields[key] = value
    return fields


def _plain_pairs(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The pairs of a text without quotes; nearly all records have none."""
    for part in text.split(b" "):
        key, _, value = part.partition(b"=")
        yield key, value


def _quoted_pairs(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    for match in _FIELD.finditer(text):
        if match[1] is not None:
            yield match[1], next((match[group] for group in (2, 3, 4) if match[group] is not None), b"")


def _slots(fields: dict[bytes, bytes]) -> dict[str, int]:
    """The slots that a run of Torque's held on each host; empty in a record of PBS's, which has vnodes and no owner.

    A request of ``ncpus`` gets one slot (seen), so the cores are what the run held and not what its job asked for.
    """
    if b"owner" not in fields or b"exec_vnode" in fields:
        return {}
    return slots_of_exec_host(_text(fields.get(b"exec_host", b"")))


def _cores(fields: dict[bytes, bytes]) -> int | None:
    """The requested cores: as a number, else by the select, else the used ones, else those of the vnodes held.

    `resource_assigned`, in S records, is more than that for a job that has its vnodes to itself.
    """
    cores = _count(fields, b"Resource_List.ncpus")
    if cores is None and b"Resource_List.select" in fields:
        try:
            cores = parse_request(_text(fields[b"Resource_List.select"])).cores
        except RequestError as error:
            raise SenselessError("a select that cannot be read") from error
    if not cores:
        cores = _count(fields, b"resources_used.ncpus") or _held(fields.get(b"exec_vnode", b"")) or cores
    assigned = _count(fields, b"resource_assigned.ncpus")
    return max(cores, assigned) if cores and assigned else cores


def _held(exec_vnode: bytes) -> int:
    """The cores of an exec_vnode; 0 where it cannot be read."""
    try:
        return parse_exec_vnode(_text(exec_vnode)).cores
    except ValueError:
        return 0


def _count(fields: dict[bytes, bytes], key: bytes) -> int | None:
    value = fields.get(key)
    if value is None:
        return None
    if not _WHOLE.fullmatch(value) or int(value) > _MOST_CORES:
        raise SenselessError("a number of cores that is none")
    return int(value)


def _time_s(fields: dict[bytes, bytes], key: bytes) -> int | None:
    """A time in seconds since 1970; None where PBS wrote 0, which means none yet."""
    value = fields.get(key)
    if value is None or value == b"0":
        return None
    if not _WHOLE.fullmatch(value):
        raise SenselessError("a time that is no number")
    return int(value)


def _duration_s(value: bytes) -> int:
    try:
        duration_s = parse_duration_s(_text(value))
    except UnitError as error:
        raise SenselessError("a walltime that is none") from error
    if duration_s > _LONGEST_S:
        raise SenselessError("a walltime of more than 100 years")
    return duration_s


def _text(value: bytes) -> str:
    # Different bytes stay different text, so that no two users become one.
    return value.decode("utf-8", "backslashreplace")
