"""Reads workload traces in the Standard Workload Format, version 2.2, plain or gzipped.

A record that makes no sense is left out and counted by cause, with its first line numbers, so that one bad line does
not cost a trace of a million; a file that cannot be a trace at all raises SwfError. The format:
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from sim.traces.read_plain_or_gzip_lines import LeftOut, read_lines
from sim.workload.workload import UNKNOWN, Cluster, TraceJob, Workload, describe_skipped

_FIELDS = 18
_LONGEST_LINE_BYTES = 1 << 16
_NUMBERS = 10**15
# A hundred years. Traces that count from 1970 stay below it; a larger value is a broken field.
_LONGEST_TIME_S = 3_155_760_000
_FEW = 0.01
"""The share of the jobs up to which it is not said that they lack something."""

_NUMBER = re.compile(rb"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|[+-]?\.[0-9]+([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(rb"[+-]?[0-9]{1,18}")
_HEADER_FIELD = re.compile(rb"\s*;+\s*([A-Za-z]+)\s*:\s*(.*?)\s*", re.DOTALL)


class SwfError(ValueError):
    """The file cannot be read as a trace; the message names the file, the line where there is one, and why."""


class _SenselessError(Exception):
    """A record that is left out; its text is the cause under which it is counted."""


class _Names(dict[bytes, str]):
    """Users, groups and applications as text, each stored once, since a trace repeats few of them very often."""

    def __missing__(self, field: bytes) -> str:
        name = self[field] = _text(field)
        return name


class _Header:
    """The `; Name: value` comments of a trace. Names are case-insensitive; the first value of a name counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, tuple[str, int]] = {}

    def read(self, comment: bytes, line: int) -> None:
        match = _HEADER_FIELD.fullmatch(comment)
        if match is not None:
            self._values.setdefault(_text(match[1]).lower(), (_text(match[2]), line))

    def cluster(self) -> Cluster:
        """The recorded cluster: MaxNodes nodes of MaxProcs/MaxNodes cores. The SwfError suggests `--cluster`."""
        nodes, cores = self._count("MaxNodes"), self._count("MaxProcs")
        if cores % nodes:
            raise self._unclear(f"MaxProcs {cores} is no whole multiple of MaxNodes {nodes}")
        try:
            return Cluster(nodes, cores // nodes)
        except ValueError as error:
            raise self._unclear(str(error)) from error

    def start_epoch(self) -> int | None:
        value, _ = self._values.get("unixstarttime", ("", 0))
        return int(value) if re.fullmatch(r"[0-9]{1,12}", value) else None

    def _count(self, name: str) -> int:
        value, line = self._values.get(name.lower(), ("", 0))
        if not line:
            raise self._unclear(f"the header has no {name}")
        # Some archives add a remark after the number: `MaxNodes: 128 (64 of them new)`.
        match = re.match(r"([0-9]{1,12})(?![^\s(])", value)
        if match is None or int(match[1]) == 0:
            raise self._unclear(f"line {line}: {name} is {value[:40]!r}, not a whole number above 0")
        return int(match[1])

    def _unclear(self, why: str) -> SwfError:
        return SwfError(f"{self._path}: {why}: say what the cluster is with --cluster NODESxCORES, such as 5832x16")


def read_swf(path: Path, cluster: Cluster | None = None) -> Workload:
    """Read a trace for `cluster`, or for the cluster that its header names.

    Cores are the requested ones (field 8), else the used ones (5); the estimate is the requested time (9), else the run
    time, at least 1 s; the run time is cut at the estimate; the application is the executable's number (14), none where
    that is negative. All jobs of an unknown user (12, -1) count as those of one user, :data:`UNKNOWN`; so with groups
    (13). Records with run time 0 or a failed status are jobs like any other. Where the first record has further fields
    after the 18, as some archives add, all have to have as many, and the first 18 count. Left out: records that do not
    have 18 fields, lack a needed number or have an impossible one, repeat a job's number (after the job itself, the
    format lists its partial runs), or need more cores than the cluster has. Raises SwfError if the file cannot be read,
    has no usable job, or names no cluster and none is given. What many jobs lack is said in the workload's `assumed`.
    """
    header, left_out, without_estimate = _Header(path), LeftOut(), 0
    width = 0
    jobs: dict[int, TraceJob] = {}
    names = _Names()
    for line, record in enumerate(_lines(path), 1):
        fields = record.split()
        if not fields:
            continue
        if fields[0].startswith(b";"):
            # Comments among the records describe records, not the trace.
            if not jobs:
                header.read(record, line)
            continue
        width = width or max(_FIELDS, len(fields))
        try:
            job = _job(fields, width, names)
        except _SenselessError as cause:
            left_out.add(str(cause), line)
            continue
        if cluster is None:
            cluster = header.cluster()
        if job.number in jobs:
            left_out.add("job number seen before", line)
        elif job.cores > cluster.cores:
            left_out.add("more cores than the cluster has", line)
        else:
            jobs[job.number] = job
            without_estimate += _number(fields[8]) <= 0
    if not jobs:
        why = describe_skipped(left_out.counts(), left_out.lines()) if left_out else "it has no records"
        raise SwfError(f"{path}: no usable job in it: {why}")
    return Workload(
        name=path.name,
        cluster=cluster,
        jobs=tuple(sorted(jobs.values(), key=lambda job: (job.submit_s, job.number))),
        skipped=left_out.counts(),
        skipped_lines=left_out.lines(),
        start_epoch=header.start_epoch(),
        assumed=tuple(_describe_assumed(jobs.values(), without_estimate, width)),
    )


def _describe_assumed(jobs: Collection[TraceJob], without_estimate: int, width: int) -> Iterator[str]:
    """What jobs count with in place of what their records lack, where so many lack it that a replay shows less; and
    that the records have further fields, where they do."""
    if width > _FIELDS:
        yield f"each record has {width} fields, of which the first {_FIELDS} count"
    few = len(jobs) * _FEW
    if without_estimate > few:
        yield (
            f"{without_estimate:,} of {len(jobs):,} jobs have no estimate, and count with their run time: nothing that"
            " a policy gains or loses by estimates is seen on these"
        )
    unknown = sum(job.user == UNKNOWN for job in jobs)
    if unknown > few:
        yield f"{unknown:,} of {len(jobs):,} jobs are of unknown users, and count as those of one"


def _job(fields: list[bytes], width: int, names: _Names) -> TraceJob:
    """The job of one record of so many fields. Raises _SenselessError."""
    if len(fields) != width:
        raise _SenselessError(f"not {width} fields")
    submit_s, run_s = _number(fields[1]), _number(fields[3])
    if submit_s < 0:
        raise _SenselessError("submit time negative or unknown")
    if run_s < 0:
        raise _SenselessError("run time negative or unknown")
    requested_s = _number(fields[8])
    estimate_s = max(1, requested_s if requested_s > 0 else run_s)
    if max(submit_s, estimate_s, run_s) > _LONGEST_TIME_S:
        raise _SenselessError("a time of more than 100 years")
    number = _number(fields[0])
    if not 0 <= number < _NUMBERS or number != int(number):
        raise _SenselessError("job number negative, not whole or too large")
    requested = _number(fields[7])
    cores = requested if requested > 0 else _number(fields[4])
    if cores <= 0:
        raise _SenselessError("number of cores unknown")
    if cores != int(cores):
        raise _SenselessError("number of cores not whole")
    application = "" if fields[13].startswith(b"-") else names[fields[13]]
    waited_s, replayed_s = _waited_s(fields[2]), min(run_s, estimate_s)
    # A job that ran longer than its estimate ended when it ended: what is cut off here counts as waiting there.
    beyond_s = None if waited_s is None else waited_s + run_s - replayed_s
    return TraceJob(
        int(number), submit_s, replayed_s, estimate_s, int(cores), _owner(fields[11], names),
        _owner(fields[12], names), application, beyond_s,
    )  # fmt: skip


def _waited_s(field: bytes) -> float | None:
    """The recorded wait; None where it is unknown or makes no sense, which is no reason to leave a job out."""
    try:
        waited_s = _number(field)
    except _SenselessError:
        return None
    return waited_s if 0 <= waited_s <= _LONGEST_TIME_S else None


def _owner(field: bytes, names: _Names) -> str:
    """A user or a group. All that a trace does not know (-1) are one, ``unknown``."""
    return UNKNOWN if field == b"-1" else names[field]


def _number(field: bytes) -> float:
    """A field's value: an int if it is written as one."""
    if field.isdigit() and len(field) < 19:
        return int(field)
    if _WHOLE.fullmatch(field):
        return int(field)
    if not _NUMBER.fullmatch(field):
        raise _SenselessError("a field that is no number")
    value = float(field)
    if not math.isfinite(value):
        raise _SenselessError("a number beyond all sense")
    return value


def _text(field: bytes) -> str:
    # Different bytes stay different text, so that no two users become one.
    return field.decode("utf-8", "backslashreplace")


def _lines(path: Path) -> Iterator[bytes]:
    """The file's lines. SwfError for binary data."""
    for number, line in enumerate(read_lines(path, _LONGEST_LINE_BYTES, SwfError), 1):
        if b"\0" in line:
            raise SwfError(f"{path}: line {number}: binary data: must be text, plain or gzipped")
        yield line
