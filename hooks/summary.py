"""What queuejob and runjob may know without asking the server: each queue's mode, the most its vnodes could hold, and
what was learned of each user's run times.

The periodic hook writes it after each pass. The two hooks run while everything in the server waits, so they read this
one small file, and again only when it has changed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.state import SUMMARY, state_folder
from policy.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from policy.snapshot import Snapshot


class QueueSummary(NamedTuple):
    """A managed queue: its mode; ``together`` is what all its vnodes have of each consumable, ``largest`` what the
    largest host among them has, whether or not they are up."""

    mode: str
    together: Mapping[str, int]
    largest: Mapping[str, int]


class Summary(NamedTuple):
    """All managed queues, the queue of jobs that name none, the consumables, and the part of the ledger that estimates
    are made from. Empty before the first pass."""

    queues: Mapping[str, QueueSummary]
    default_queue: str
    consumables: frozenset[str]
    past: Ledger = Ledger()

    def mode(self, queue: str) -> str:
        """The queue's mode; ``observe`` for one that pbsteer does not manage or does not know yet."""
        found = self.queues.get(queue)
        return found.mode if found is not None else "observe"


NOTHING_KNOWN = Summary({}, "", frozenset())


def summarize(
    snapshot: Snapshot, modes: Mapping[str, str], default_queue: str, consumables: frozenset[str], ledger: Ledger
) -> dict[str, Any]:
    """The summary as plain data for the file."""
    world = snapshot.world()
    queues = {}
    for queue, mode in modes.items():
        together: dict[str, int] = {}
        hosts: dict[str, dict[str, int]] = {}
        for name in world.capacity.directory.named(world.vnodes_of(queue)):
            vnode = world.vnodes[name]
            host = hosts.setdefault(vnode.host or name, {})
            for resource, amount in vnode.available.items():
                together[resource] = together.get(resource, 0) + amount
                host[resource] = host.get(resource, 0) + amount
        largest: dict[str, int] = {}
        for amounts in hosts.values():
            for resource, amount in amounts.items():
                largest[resource] = max(amount, largest.get(resource, 0))
        queues[queue] = {"mode": mode, "together": together, "largest": largest}
    return {
        "queues": queues,
        "default_queue": default_queue,
        "consumables": sorted(consumables),
        "past": Ledger(history=ledger.history).to_data(),
    }


def read_summary(pbs_home: str) -> Summary:
    """The summary that the last pass left. Raises ValueError, KeyError or TypeError for a file that is none."""
    path = state_folder(pbs_home) / SUMMARY
    try:
        changed = path.stat()
    except FileNotFoundError:
        return NOTHING_KNOWN
    return _read(str(path), changed.st_mtime_ns, changed.st_ino)


@lru_cache(maxsize=4)
def _read(path: str, _changed_ns: int, _inode: int) -> Summary:
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    queues = {
        name: QueueSummary(texts["mode"], texts["together"], texts["largest"]) for name, texts in data["queues"].items()
    }
    past = Ledger.from_data(data["past"]) if "past" in data else Ledger()
    return Summary(queues, data["default_queue"], frozenset(data["consumables"]), past)
