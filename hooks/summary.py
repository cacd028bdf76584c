"""What the hooks of submissions, changes and starts may know without asking the server: each queue's mode and vnodes,
what was learned of users and applications, and which starts a pass is about to make.

The periodic hook writes it in each pass. The others run while everything in the server waits, so they read this one
small file, and again only when it has changed.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hooks.queues import SOFT_LIMIT, read_consumables
from hooks.resources import SAVE_ATTRIBUTE
from hooks.resuming import find_kept
from hooks.sched_files import read_sched_files
from hooks.state import SUMMARY, state_folder
from hooks.uncounted import PLENTY, find_unlisted
from policy.ledger import Ledger
from policy.masks import count_vnodes
from policy.node_sizes import Sizes, sort_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hooks.picture import Picture
    from policy.plan import Plan, Start
    from policy.snapshot import Snapshot
    from policy.world import World


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
    case, the part of the ledger that estimates and layouts are made from, the jobs that the pass is starting,
    with whether they are stripes and, as ``planned``, what each start was decided on (:mod:`hooks.planned`), read at
    ``planned_s``, and the hosts that show several vnodes; ``kept``, by vnode, is what driven jobs that are to be
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


def summarize(
    snapshot: Snapshot, modes: Mapping[str, str], picture: Picture, plan: Plan, queues: Iterable[str]
) -> dict[str, Any]:
    """The summary as plain data for the file; ``queues`` are those for which the plan is about to be carried out."""
    world = snapshot.world()
    vnodes: dict[int, dict[str, Any]] = {}
    described: dict[str, dict[str, Any]] = {}
    consumables = read_consumables(picture.resources)
    files = read_sched_files(picture) if "advise" in modes.values() else {}
    plenty = dict.fromkeys(find_unlisted(consumables, files), PLENTY)
    for queue, mode in modes.items():
        mask = world.vnodes_of(queue)
        if mask not in vnodes:
            vnodes[mask] = _describe_vnodes(world, mask)
        described[queue] = {"mode": mode, **vnodes[mask], **_read_defaults(picture, queue)}
        if mode == "advise":
            # Its scheduler starts jobs whatever they ask for of what it does not look at.
            described[queue].update({part: {**described[queue][part], **plenty} for part in ("together", "largest")})
    driven = frozenset(queues)
    vnodes_of = Counter(vnode.host or vnode.name for vnode in world.vnodes.values())
    return {
        "queues": described,
        "default_queue": picture.server.get("default_queue", ""),
        "consumables": sorted(consumables),
        "names": sorted({name.lower() for vnode in world.vnodes.values() for name in (vnode.name, vnode.host) if name}),
        "past": Ledger(history=plan.ledger.history, learned=plan.ledger.learned).to_data(),
        "starting": {start.id: _is_stripe(start) for start in plan.starts if start.job.queue in driven},
        "several": sorted(host for host, count in vnodes_of.items() if count > 1),
        "kept": _sum_kept(picture, modes),
        "quotas": _read_quotas(picture, modes, consumables),
    }


def _read_quotas(picture: Picture, modes: Mapping[str, str], consumables: frozenset[str]) -> dict[str, dict[str, str]]:
    """The soft quotas of queues that are not only observed, and under "" those of the server, by resource, as texts."""
    owners = {"": picture.server, **{name: picture.queues[name] for name, mode in modes.items() if mode != "observe"}}
    found = {}
    for name, texts in owners.items():
        named = ((resource, texts.get(f"{SOFT_LIMIT}.{resource}", "")) for resource in sorted(consumables))
        found[name] = {resource: text for resource, text in named if text}
    return found


def _sum_kept(picture: Picture, modes: Mapping[str, str]) -> dict[str, dict[str, int] | None]:
    """What is kept of each vnode for jobs of driven queues that are to be resumed; None for all of it."""
    kept: dict[str, dict[str, int] | None] = {}
    for each in find_kept(picture):
        for vnode, amounts in each.vnodes.items() if modes.get(each.queue) == "drive" else ():
            here = kept.setdefault(vnode, {})
            if amounts is None or here is None:
                kept[vnode] = None
                continue
            for resource, amount in amounts:
                here[resource] = here.get(resource, 0) + amount
    return kept


def _is_stripe(start: Start) -> bool:
    return start.why is not None and start.why.code == "striped"


def _describe_vnodes(world: World, mask: int) -> dict[str, Any]:
    together: dict[str, int] = {}
    hosts: dict[str, dict[str, int]] = {}
    usable: dict[str, list[tuple[tuple[str, int], ...]]] = {}
    for name in world.capacity.directory.named(mask):
        vnode = world.vnodes[name]
        host = hosts.setdefault(vnode.host or name, {})
        for resource, amount in vnode.available.items():
            together[resource] = together.get(resource, 0) + amount
            host[resource] = host.get(resource, 0) + amount
        if vnode.usable:
            usable.setdefault(vnode.host or name, []).append(tuple(sorted(vnode.available.items())))
    largest: dict[str, int] = {}
    for amounts in hosts.values():
        for resource, amount in amounts.items():
            largest[resource] = max(amount, largest.get(resource, 0))
    counts = Counter(tuple(sorted(parts)) for parts in usable.values())
    return {
        "together": together,
        "largest": largest,
        "hosts": len(hosts),
        "vnodes": count_vnodes(mask),
        "nodes": sort_sizes([*counts.items()]),
    }


def _read_defaults(picture: Picture, queue: str) -> dict[str, Any]:
    """What goes for a job of the queue that does not say: the queue's own word before the server's."""
    texts = {**picture.server, **picture.queues.get(queue, {})}
    prefix = "default_chunk."
    chunk = {name[len(prefix) :]: text for name, text in texts.items() if name.startswith(prefix)}
    save = picture.queues.get(queue, {}).get(SAVE_ATTRIBUTE, "")
    return {"place": texts.get("resources_default.place", ""), "chunk": chunk, "save": save}


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
