"""A part of the cluster with a scheduler of its own: its partition, its queues and vnodes, and a scheduler that serves
it.

PBS changes the partition of no vnode that has jobs or a reservation; such vnodes are found beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from hooks.deploy.read_installed_server_state import DeployError, Installed, Qmgr, ask
from hooks.pbs.custom_resources import DEFAULT_PARTITION

_SAFE_NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_LONGEST_SCHEDULER = 15
"""The most letters in a scheduler's name (PBS's PBS_MAXSCHEDNAME)."""


@dataclass(frozen=True)
class Part:
    """A partition, and the queues and vnodes that are to belong to it."""

    partition: str
    queues: tuple[str, ...] = ()
    vnodes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for word in (self.partition, *self.queues, *self.vnodes):
            if not _SAFE_NAME.fullmatch(word):
                raise DeployError(f"{word!r}: allowed in the name of a partition, queue or vnode is A-Z a-z 0-9 . _ -")
        if self.partition == DEFAULT_PARTITION:
            raise DeployError(
                f"partition {self.partition!r} is PBS's own, of all that is in no other: allowed is another"
            )


def with_part(qmgr: Qmgr, found: Installed, wanted: Installed, part: Part, made: Collection[str]) -> Installed:
    """``wanted`` with the part's queues and vnodes in its partition, and a scheduler that serves it.

    ``made``: the schedulers that an earlier apply made. Raises :class:`DeployError` for a queue or vnode that does not
    exist, and if there can be no such scheduler.
    """
    partitions, scheduling = dict(wanted.partitions), dict(wanted.scheduling)
    if not any(part.partition in found.partitions.get(f"sched {name}", "").split(",") for name in found.scheduling):
        name = part.partition[:_LONGEST_SCHEDULER]
        served = found.partitions.get(f"sched {name}", "none")
        # One of ours that serves no partition yet is from an apply that was cut off.
        if name in found.scheduling and (name not in made or served != "none"):
            raise DeployError(
                f"no scheduler serves partition {part.partition}, and {name} is the name of one that serves {served}:"
                f" qmgr -c 'create sched NAME', then 'set sched NAME partition = {part.partition}'"
            )
        # On, so that leaving drive switches it on again: one that was off before counts as an administrator's
        # preference.
        scheduling.setdefault(name, "True")
        partitions[f"sched {name}"] = part.partition
    for kind, names in (("queue", part.queues), ("node", part.vnodes)):
        for name in names:
            ask(qmgr, f"list {kind} {name}")
            partitions[f"{kind} {name}"] = part.partition
    return replace(wanted, partitions=partitions, scheduling=scheduling)
