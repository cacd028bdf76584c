"""What the hooks of submissions, alterations and starts know without a request to the server.

The periodic hook writes the summary in each pass: each queue's mode and vnodes, what was learned of users and
applications, and the starts that the pass is about to make. The other hooks run while the whole server waits, so they
read this one small file, and only when it has changed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.store.bounded_json import parse_json
from hooks.store.state_folder import state_folder
from policy.model.ledger_between_passes import Ledger
from policy.model.pbs_units import SIZES
from policy.striping.batch_of_waiting_jobs import Batch, CoresAndMemory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policy.striping.fewest_nodes_that_hold_request import Sizes

SUMMARY = "summary.json"
LONGEST_CYCLE_S = 120.0
"""So many seconds after a scheduler was given a cycle for its pending work, the cycle counts as over, and its starts
are no longer refused: passes may have ended meanwhile.
"""
_PASSES_MISSED = 3


class QueueSummary(NamedTuple):
    """A managed queue and its mode.

    ``together`` is what all its vnodes have of each consumable, ``largest`` what the largest host among them has,
    whether or not they are up. ``hosts`` and ``vnodes`` are counts; ``nodes`` are the hosts that take jobs, by size.
    Defaults for jobs that do not say: ``place``, ``chunk`` (by resource, for each chunk; PBS's
    ``resources_default.place`` and ``default_chunk``), and ``save``, how they save. ``batch`` is what the layout
    ``auto`` goes by; empty where no waiting job and no queue has that layout. ``most_chunks`` is how many chunks PBS
    accepts in a job (``resources_max.nodect``), None without that limit.
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
    batch: Batch = Batch()
    most_chunks: int | None = None


@dataclass(frozen=True)
class Summary:
    """What the last pass left for the other hooks. Empty before the first pass.

    ``queues`` are the managed queues, ``default_queue`` that of jobs that name none, ``sizes`` the resources that are
    sizes, ``names`` all hosts and vnodes in
    lower case, ``several`` the hosts with several vnodes. ``past`` is the part of the ledger for estimates and layouts.
    ``starting`` are the jobs that the pass is starting, with whether they are striped; ``planned`` is what each start
    was decided on (:mod:`hooks.pbs.job_attributes.job_altered_since_plan`), read at ``planned_s``. ``kept``, by vnode,
    is what driven jobs that are to be resumed need again, None for the whole vnode. ``quotas`` are soft quotas as
    texts. ``in_cycle`` are the queues in ``drive`` whose scheduler had a cycle for reservations and resumes at
    ``planned_s``. ``lists`` has the sockets and cores of starts that hand them to the job
    (:func:`policy.model.lists_for_programs.show_entries`). ``unguarded``: the starts are made without the hook that
    would judge them (:mod:`hooks.control.switched_hooks.start_guard`). ``stripes`` caches results computed from the
    summary.
    """

    queues: Mapping[str, QueueSummary]
    default_queue: str
    consumables: frozenset[str]
    names: frozenset[str] = frozenset()
    sizes: frozenset[str] = SIZES
    past: Ledger = field(default_factory=Ledger)
    starting: Mapping[str, bool] = field(default_factory=dict)
    planned: Mapping[str, str] = field(default_factory=dict)
    planned_s: float = 0.0
    several: frozenset[str] = frozenset()
    kept: Mapping[str, Mapping[str, int] | None] = field(default_factory=dict)
    quotas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    in_cycle: frozenset[str] = frozenset()
    lists: Mapping[str, str] = field(default_factory=dict)
    unguarded: bool = False
    stripes: dict[Any, dict[str, str]] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """The summary as plain data for its file, without what is only cached."""
        return {
            "queues": {name: queue._asdict() for name, queue in self.queues.items()},
            "default_queue": self.default_queue,
            "consumables": sorted(self.consumables),
            "names": sorted(self.names),
            "sizes": sorted(self.sizes),
            "past": self.past.to_data(),
            "starting": self.starting,
            "several": sorted(self.several),
            "kept": self.kept,
            "quotas": self.quotas,
            "planned": self.planned,
            "planned_s": self.planned_s,
            "in_cycle": sorted(self.in_cycle),
            "lists": dict(self.lists),
            "unguarded": self.unguarded,
        }

    def mode(self, queue: str) -> str:
        """The queue's mode; ``observe`` for a queue that pbsteer does not manage or does not know yet."""
        found = self.queues.get(queue)
        return found.mode if found is not None else "observe"

    def may_advise(self, queue: str) -> bool:
        """Whether a job of the queue is in ``advise`` or, from a queue that pbsteer does not manage, may be routed to a
        queue that is."""
        if queue in self.queues:
            return self.queues[queue].mode == "advise"
        return any(each.mode == "advise" for each in self.queues.values())

    def kept_at(self, now_s: float, interval_s: float) -> Mapping[str, Mapping[str, int] | None]:
        """What is ``kept`` by vnode; nothing if passes, which are ``interval_s`` apart, have been silent for some of
        them: nothing else says that the job runs again or has gone."""
        is_recent = 0 <= now_s - self.planned_s < max(LONGEST_CYCLE_S, _PASSES_MISSED * interval_s)
        return self.kept if is_recent else {}

    @property
    def drives_some(self) -> bool:
        """Whether some queue's mode is ``drive``."""
        return any(queue.mode == "drive" for queue in self.queues.values())

    @property
    def only_observes(self) -> bool:
        """Whether each queue's mode is ``observe``."""
        return all(queue.mode == "observe" for queue in self.queues.values())


NOTHING_KNOWN = Summary({}, "", frozenset())


def read_summary(pbs_home: str) -> Summary:
    """The summary that the last pass left; an empty one if there is no file. Raises OSError, ValueError, KeyError or
    TypeError for an invalid file; one of an older version counts as invalid until the next pass."""
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
    data = parse_json(Path(path).read_text(encoding="utf-8"))
    return Summary(
        {name: _read_queue(texts) for name, texts in data["queues"].items()},
        data["default_queue"],
        frozenset(data["consumables"]),
        frozenset(data["names"]),
        frozenset(data.get("sizes", SIZES)),
        Ledger.from_data(data["past"]),
        data["starting"],
        data.get("planned", {}),
        data.get("planned_s", 0.0),
        frozenset(data["several"]),
        data.get("kept", {}),
        data.get("quotas", {}),
        frozenset(data.get("in_cycle", ())),
        data.get("lists", {}),
        data.get("unguarded", False),
    )


def _read_queue(texts: Mapping[str, Any]) -> QueueSummary:
    nodes = [
        (tuple(tuple((name, amount) for name, amount in vnode) for vnode in size), count)
        for size, count in texts["nodes"]
    ]
    nodes_have, idle, waiting, heavy, light = texts.get("batch", Batch())
    batch = Batch(
        CoresAndMemory(*nodes_have), CoresAndMemory(*idle), CoresAndMemory(*waiting), heavy=heavy, light=light
    )
    return QueueSummary(**{**texts, "nodes": tuple(nodes), "batch": batch})
