"""Makes the summary of a pass (:mod:`hooks.store.event_hook_summary`) for the hooks of submissions and starts."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from hooks.act.start_jobs import digest_starts
from hooks.pbs.custom_resources import PLENTY, SAVE_ATTRIBUTE, SOFT_LIMIT
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import read_sched_files
from hooks.store.event_hook_summary import QueueSummary, Summary
from hooks.translate.job.reserve_resources_for_suspended_jobs import find_resume_needs
from hooks.translate.queues import read_consumables, read_sizes
from hooks.translate.uncounted_resources import find_unlisted
from policy.model.job_preferences import AUTO
from policy.model.ledger_between_passes import Ledger
from policy.model.vnode_bitsets import count_vnodes
from policy.striping.batch_of_waiting_jobs import describe_batch
from policy.striping.fewest_nodes_that_hold_request import sort_sizes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hooks.pbs.server_status_type_and_attributes import ServerStatus
    from policy.plan.plan_types import Plan, Start
    from policy.state.cluster_index import ClusterIndex
    from policy.state.cluster_snapshot import Snapshot

NO_LISTS: Mapping[str, str] = MappingProxyType({})


def summarize(
    snapshot: Snapshot,
    modes: Mapping[str, str],
    server_status: ServerStatus,
    plan: Plan,
    queues: Collection[str],
    in_cycle: frozenset[str] = frozenset(),
    *,
    lists: Mapping[str, str] = NO_LISTS,
    is_auto: bool = False,
) -> Summary:
    """The summary of a pass; ``queues`` are those in which the plan's starts are about to be carried out, ``in_cycle``
    those whose scheduler has a cycle for its pending work. ``lists``: the sockets and cores
    that starts hand to their jobs; ``is_auto``: some queue has the layout ``auto``."""
    cluster = snapshot.cluster()
    is_auto = is_auto or any(job.layout is not None and job.layout.kind == AUTO for job in cluster.jobs.values())
    vnodes: dict[int, QueueSummary] = {}
    described: dict[str, QueueSummary] = {}
    consumables = read_consumables(server_status.resources)
    files = read_sched_files(server_status) if "advise" in modes.values() else {}
    plenty = dict.fromkeys(find_unlisted(consumables, files), PLENTY)
    for queue, mode in modes.items():
        mask = cluster.vnodes_of(queue)
        if mask not in vnodes:
            vnodes[mask] = _describe_vnodes(cluster, mask)
            if is_auto:
                vnodes[mask] = vnodes[mask]._replace(batch=describe_batch(cluster, mask, snapshot.time_s))
        described[queue] = _with_defaults(vnodes[mask]._replace(mode=mode), server_status, queue)
        if mode == "advise":
            # Its scheduler ignores what jobs request of resources that are not in its ``resources`` list.
            together, largest = ({**amounts, **plenty} for amounts in (vnodes[mask].together, vnodes[mask].largest))
            described[queue] = described[queue]._replace(together=together, largest=largest)
    vnodes_of = Counter(vnode.host or vnode.name for vnode in cluster.vnodes.values())
    return Summary(
        described,
        server_status.server.get("default_queue", ""),
        consumables,
        sizes=read_sizes(server_status.resources),
        names=frozenset(name.lower() for vnode in cluster.vnodes.values() for name in (vnode.name, vnode.host) if name),
        past=Ledger(history=plan.ledger.history, learned=plan.ledger.learned),
        starting={start.id: _is_stripe(start) for start in plan.starts if start.job.queue in queues},
        planned=digest_starts(plan.starts, server_status, queues),
        planned_s=server_status.time_s,
        several=frozenset(host for host, count in vnodes_of.items() if count > 1),
        kept=_sum_resume_needs(server_status, modes),
        quotas=_read_quotas(server_status, modes, consumables),
        in_cycle=in_cycle,
        lists=lists,
    )


def _read_quotas(
    server_status: ServerStatus, modes: Mapping[str, str], consumables: frozenset[str]
) -> dict[str, dict[str, str]]:
    """The soft quotas, as texts by resource, of queues that are not only observed, and under "" those of the server."""
    owners = {
        "": server_status.server,
        **{name: server_status.queues[name] for name, mode in modes.items() if mode != "observe"},
    }
    found = {}
    for name, texts in owners.items():
        named = ((resource, texts.get(f"{SOFT_LIMIT}.{resource}", "")) for resource in sorted(consumables))
        found[name] = {resource: text for resource, text in named if text}
    return found


def _sum_resume_needs(server_status: ServerStatus, modes: Mapping[str, str]) -> dict[str, dict[str, int] | None]:
    """What is kept of each vnode for jobs of driven queues that are to be resumed; None for all of it."""
    kept: dict[str, dict[str, int] | None] = {}
    for each in find_resume_needs(server_status):
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


def _describe_vnodes(cluster: ClusterIndex, mask: int) -> QueueSummary:
    """The vnodes of a queue, without the queue's mode and defaults."""
    together: dict[str, int] = {}
    hosts: dict[str, dict[str, int]] = {}
    usable: dict[str, list[tuple[tuple[str, int], ...]]] = {}
    for name in cluster.capacity.directory.named(mask):
        vnode = cluster.vnodes[name]
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
    return QueueSummary("", together, largest, len(hosts), count_vnodes(mask), tuple(sort_sizes([*counts.items()])))


def _with_defaults(described: QueueSummary, server_status: ServerStatus, queue: str) -> QueueSummary:
    """With the defaults and the limit of chunks for jobs of the queue: the queue's own before the server's."""
    own = server_status.queues.get(queue, {})
    texts = {**server_status.server, **own}
    prefix = "default_chunk."
    chunk = {name[len(prefix) :]: text for name, text in texts.items() if name.startswith(prefix)}
    most = texts.get("resources_max.nodect", "")
    return described._replace(
        most_chunks=int(most) if most.isdigit() else None,
        place=texts.get("resources_default.place", ""),
        chunk=chunk,
        save=own.get(SAVE_ATTRIBUTE, ""),
    )
