"""What the hooks of submissions, changes and starts may know without asking the server: each queue's mode and vnodes,
what was learned of users and applications, and which starts a pass is about to make.

The periodic hook writes it in each pass. The others run while everything in the server waits, so they read this one
small file, and again only when it has changed.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.store.state_dir import SUMMARY, state_folder
from policy.model.ledger import Ledger
from policy.striping.node_sizes import Sizes

if TYPE_CHECKING:
    from collections.abc import Mapping


class QueueSummary(NamedTuple):
    """A managed queue: its mode; ``together`` is what all its vnodes have of each consumable, ``largest`` what the
    largest host among them has, whether or not they are up.

    ``hosts`` and ``vnodes`` count them; ``nodes`` are the hosts that take jobs, by size. ``place`` is what jobs that do
    not say get, ``chunk`` what each of their chunks gets of the resources that it does not name (PBS's
    ``resources_default.place`` and ``default_chunk``), ``save`` how they save that do not say.
    """

    mode: str
    together: Mapping[str, int]
    largest: Mapping[str, int]
    hosts: int
    vnodes: int
    nodes: Sizes = ()
    place: str = ""
    chunk: Mapping[str, str] = MappingProxyType({})
    save: str = ""


@dataclass(frozen=True)
class Summary:
    """All managed queues, the queue of jobs that name none, the consumables, the names of all hosts and vnodes in lower
    case, the part of the ledger that estimates and layouts are made from, the jobs that the pass is starting, with
    whether they are stripes and, as ``planned``, what each start was decided on (:mod:`hooks.pbs.planned_start`), read
    at ``planned_s``, and the hosts that show several vnodes; ``kept``, by vnode, is what driven jobs that are to be
    resumed need again, None for the whole vnode; ``quotas`` are soft quotas as texts. Empty before the first pass.
    ``stripes`` remembers what was worked out from it."""

    queues: Mapping[str, QueueSummary]
    default_queue: str
    consumables: frozenset[str]
    names: frozenset[str] = frozenset()
    past: Ledger = field(default_factory=Ledger)
    starting: Mapping[str, bool] = field(default_factory=dict)
    planned: Mapping[str, str] = field(default_factory=dict)
    planned_s: float = 0.0
    several: frozenset[str] = frozenset()
    kept: Mapping[str, Mapping[str, int] | None] = field(default_factory=dict)
    quotas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stripes: dict[Any, dict[str, str]] = field(default_factory=dict)

    def mode(self, queue: str) -> str:
        """The queue's mode; ``observe`` for one that pbsteer does not manage or does not know yet."""
        found = self.queues.get(queue)
        return found.mode if found is not None else "observe"


NOTHING_KNOWN = Summary({}, "", frozenset())


def read_summary(pbs_home: str) -> Summary:
    """The summary that the last pass left. Raises OSError, ValueError, KeyError or TypeError for a file that is none;
    one of an older version is such a file until the next pass."""
    path = _path(pbs_home)
    try:
        changed = os.stat(path)  # noqa: PTH116 - a path object costs more than the rest of this, at each submission
    except FileNotFoundError:
        return NOTHING_KNOWN
    return _read(path, changed.st_mtime_ns, changed.st_ino)


@lru_cache(maxsize=1)
def _path(pbs_home: str) -> str:
    return str(state_folder(pbs_home) / SUMMARY)


@lru_cache(maxsize=4)
def _read(path: str, _changed_ns: int, _inode: int) -> Summary:
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    return Summary(
        {name: _read_queue(texts) for name, texts in data["queues"].items()},
        data["default_queue"],
        frozenset(data["consumables"]),
        frozenset(data["names"]),
        Ledger.from_data(data["past"]),
        data["starting"],
        data.get("planned", {}),
        data.get("planned_s", 0.0),
        frozenset(data["several"]),
        data.get("kept", {}),
        data.get("quotas", {}),
    )


def _read_queue(texts: Mapping[str, Any]) -> QueueSummary:
    nodes = [
        (tuple(tuple((name, amount) for name, amount in vnode) for vnode in size), count)
        for size, count in texts["nodes"]
    ]
    return QueueSummary(**{**texts, "nodes": tuple(nodes)})
