"""Administrators' changes, read from the server's log: by whom, from which host, when, and as which command.

PBS logs a manager's request on an object as a line ``attributes set:  at request of alice@host``, and a line for each
attribute after it; what is done to jobs is one line. Requests of the passes themselves are left out, and those of users
who are neither manager nor operator.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from io import BytesIO
from typing import NamedTuple

from hooks.pbs.own_switch_values import is_own_switch

_LINE = re.compile(rb"([0-9/]{10} [0-9:]{8})[.0-9]*;[0-9a-f]{4};([^;]*);(\w+);([^;]*);(.*)")
_STAMP = "%m/%d/%Y %H:%M:%S"
_MOST_TEXT = 4000
_OBJECTS = {"Que": "queue", "Node": "node", "Svr": "server", "Sched": "sched", "Resc": "resource", "Hook": "hook"}
_REQUEST = re.compile(r"(created|deleted|attributes (?:set|unset): ) at request of ([^@\s]+)@(\S+)")
_ATTRIBUTE = re.compile(r"attributes (?:set|unset): ([\w.:-]+) ([=+-]) (.*)", re.DOTALL)
_WORDS = {"created": "create", "deleted": "delete", "attributes set: ": "set", "attributes unset: ": "unset"}
_SIGNS = {"=": "=", "+": "+=", "-": "-="}
_BY = r" at request of (?P<user>[^@\s]+)@(?P<host>\S+)"
_OF_JOBS = (
    (re.compile(r"Job to be deleted" + _BY), "qdel {job}"),
    (re.compile(r"Holds (?P<holds>\w+) set" + _BY), "qhold -h {holds} {job}"),
    (re.compile(r"Holds (?P<holds>\w+) released" + _BY), "qrls -h {holds} {job}"),
    (re.compile(r"Job Rerun" + _BY), "qrerun {job}"),
    (re.compile(r"Job Modified" + _BY), "qalter {job}"),
    (re.compile(r"Job moved to (?P<queue>\S+)" + _BY), "qmove {queue} {job}"),
    (re.compile(r"(?P<signal>suspend|resume) job by (?P<user>[^@\s]+)@(?P<host>\S+)"), "qsig -s {signal} {job}"),
)
_OF_PASSES = ("qhold -h s ", "qrls -h s ", "qrerun ", "qalter ")
"""What a pass does to jobs too, as root on the server's host: such lines may be a pass's or a person's."""
_HINTS = (b" at request of ", b";attributes ", b" job by ")


class AdminChange(NamedTuple):
    """One request. ``offset``: where its first line begins in the log; ``end``: where its last one ends; ``of_job``: it
    is on a job, and so has no event that a hook could record."""

    time_s: float
    user: str
    host: str
    server: str
    command: str
    offset: int
    end: int
    of_job: bool = False


def read_changes(log: bytes, privileged: Collection[str]) -> list[AdminChange]:
    """The requests in this part of a log, which begins and ends with whole lines; offsets count from its beginning.

    ``privileged``: the users whose requests about jobs count, as the server lists its managers and operators
    (``alice@*``).
    """
    found: list[AdminChange] = []
    current: AdminChange | None = None
    open_: tuple[str, str] | None = None
    attributes: list[str] = []

    def close() -> None:
        if current is not None:
            command = f"{current.command} {', '.join(attributes)}".strip()
            if not (current.user == "root" and is_own_switch(command)):
                found.append(current._replace(command=command[:_MOST_TEXT]))

    end = 0
    # A carriage return in a user's text begins no log line.
    for line in BytesIO(log):
        offset, end = end, end + len(line)
        matched = _LINE.match(line.rstrip(b"\r\n")) if any(hint in line for hint in _HINTS) else None
        parts = [part.decode("utf-8", "replace") for part in matched.groups()] if matched is not None else []
        attribute = _ATTRIBUTE.fullmatch(parts[4]) if parts else None
        if current is not None and attribute is not None and open_ == (parts[2], parts[3]):
            attributes.append(_show(current.command, attribute))
            current = current._replace(end=end)
            continue
        close()
        current, open_, attributes = _begin(parts, privileged, offset, end), tuple(parts[2:4]) or None, []  # type: ignore[assignment]
    close()
    return found


def _begin(parts: Sequence[str], privileged: Collection[str], offset: int, end: int) -> AdminChange | None:
    """The request that a line begins; None if it begins none."""
    if not parts:
        return None
    stamp, server, kind, name, text = parts
    short = server.rpartition("@")[2]
    line = AdminChange(_read_time(stamp), "", "", short, "", offset, end)
    if kind == "Job":
        return _of_job(name, text, line, privileged)
    request = _REQUEST.fullmatch(text) if kind in _OBJECTS else None
    if request is None:
        return None
    what, user, host = request.groups()
    # A scheduler's own name is not logged; the server has none in qmgr.
    command = " ".join(filter(None, (_WORDS[what], _OBJECTS[kind], "" if "@" in name else name)))
    return line._replace(user=user, host=host, command=command)


def _of_job(job: str, text: str, line: AdminChange, privileged: Collection[str]) -> AdminChange | None:
    for pattern, command in _OF_JOBS:
        matched = pattern.fullmatch(text)
        if matched is None:
            continue
        words = matched.groupdict()
        user, host = words["user"], words["host"]
        change = line._replace(user=user, host=host, command=command.format(job=job, **words), of_job=True)
        if any(fnmatchcase(f"{user}@{host}", pattern) for pattern in privileged):
            return change
        is_servers_root = user == "root" and host.partition(".")[0] == line.server.partition(".")[0]
        return change if is_servers_root and not change.command.startswith(_OF_PASSES) else None
    return None


def _show(command: str, attribute: re.Match[str]) -> str:
    name, sign, value = attribute.groups()
    return str(name) if command.startswith("unset ") else f"{name} {_SIGNS[sign]} {value}"


def _read_time(stamp: str) -> float:
    try:
        return time.mktime(time.strptime(stamp, _STAMP))
    except (ValueError, OverflowError):
        return 0.0
