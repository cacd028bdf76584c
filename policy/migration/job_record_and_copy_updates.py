"""The record of one migrating job, and the rules by which its copies change.

A record has one authority at a time: the source until a target has accepted it, from then on the target. Each change
by the authority raises ``rev``, and a copy with a smaller (attempt, rev) never replaces a larger one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from policy.migration.job_demand import Demand
from policy.migration.job_states_and_transitions import FINAL, REQUESTED, next_state
from policy.values.frozen_value import FrozenValue

ANY, LOCAL = "any", "local"
"""Preferences for a target beside the name of a cluster."""

CLUSTER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_GID = re.compile(rf"({CLUSTER_NAME.pattern})\.([1-9][0-9]{{0,17}})")

_FIXED = (
    "gid", "user", "src", "want", "dir", "prog", "args", "env", "cores", "nodes", "mem", "gpus", "walltime", "build",
    "shared", "exclude", "nostage", "name", "arch", "created",
)  # fmt: skip
"""What the user asked for."""
_BY_SOURCE = ("dst", "offered", "stop", "fallback", "ticket", "last")
"""What the source alone knows of a job that a target has."""


@dataclass(frozen=True)
class Record(FrozenValue):
    """One job. Times are seconds of the clock of the host in whose file the record is; memory is MiB a node.

    ``then`` is the final state after Downloading. ``avoid`` are clusters excluded for this job, ``last`` the one that
    comes last in the next round. ``fallback`` is the id of the job that was also submitted at the source. ``ran`` says
    that a local job of it has started. ``account`` is the user at the target. ``more`` has keys of newer versions.
    """

    gid: str = ""
    user: str = ""
    src: str = ""
    dst: str = ""
    want: str = ANY
    name: str = ""
    dir: str = ""
    dstdir: str = ""
    prog: str = ""
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    cores: int = 1
    nodes: int = 0
    mem: int = 0
    gpus: int = 0
    walltime: int = 0
    build: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    nostage: tuple[str, ...] = ()
    arch: str = ""
    attempt: int = 1
    state: str = REQUESTED
    reason: str = ""
    localid: str = ""
    account: str = ""
    ran: int = 0
    requeues: int = 0
    exit: str = ""
    then: str = ""
    created: int = 0
    since: int = 0
    offered: int = 0
    rev: int = 1
    stop: str = ""
    avoid: tuple[str, ...] = ()
    last: str = ""
    fallback: str = ""
    ticket: str = ""
    datakey: str = ""
    uploaded_bytes: int = 0
    shared_bytes: int = 0
    downloaded_bytes: int = 0
    tries: int = 0
    more: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    @property
    def age(self) -> tuple[int, int]:
        """What decides between two copies: the larger one holds."""
        return self.attempt, self.rev

    @property
    def final(self) -> bool:
        """Whether processing is over."""
        return self.state in FINAL

    @property
    def in_place(self) -> bool:
        """Whether the source itself runs it, in the folder of submission."""
        return self.dst == self.src

    @property
    def local_name(self) -> str:
        """The name of the local job at the target, by which it is found after a crash."""
        return f"mg_{self.gid}_{self.attempt}"

    @property
    def demand(self) -> Demand:
        """What it needs of a cluster."""
        return Demand(self.cores, self.nodes, self.mem, self.gpus, self.walltime, "" if self.build else self.arch)


def advance(record: Record, event: str, now_s: float, **changes: Any) -> Record:
    """The record after an event: state, ``since`` and ``rev`` change, and ``changes``. The one way to a new state.

    Raises :class:`~policy.migration.job_states_and_transitions.NoSuchTransition`.
    """
    state = next_state(record.state, event).to
    since = int(now_s) if state != record.state else record.since
    return replace(record, **{"state": state, "since": since, "rev": record.rev + 1, **changes})


def amend(record: Record, **changes: Any) -> Record:
    """The record with other facts in the same state. ``rev`` rises."""
    if "state" in changes:
        raise TypeError("amend does not change the state: use advance")
    return replace(record, **{"rev": record.rev + 1, **changes})


def fold(mine: Record, theirs: Record) -> Record | None:
    """The source's copy after a message of the target; None if the message says nothing newer.

    What the user asked for, and what only the source knows, stays as the source has it whatever the message says. So
    does the key to the job's data once there is one: it is as good as the folder. A target excludes for a job no
    cluster but itself.
    """
    if theirs.gid != mine.gid or theirs.attempt != mine.attempt or theirs.age <= mine.age:
        return None
    kept = {name: getattr(mine, name) for name in (*_FIXED, *_BY_SOURCE)}
    excluded = mine.dst in theirs.avoid and mine.dst not in mine.avoid
    avoid = (*mine.avoid, mine.dst) if excluded else mine.avoid
    return replace(theirs, **{**kept, "avoid": avoid, "datakey": mine.datakey or theirs.datakey})


def split_gid(gid: str) -> tuple[str, int]:
    """The source and the serial of a job's id. Raises ValueError."""
    match = _GID.fullmatch(gid)
    if match is None:
        raise ValueError(f"job id {gid!r}: must be SOURCE.SERIAL, such as a.17")
    return match[1], int(match[2])
