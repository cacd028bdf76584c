"""Divides hosts' reported readings among their vnodes (docs/policies.md, P4); a text that cannot be read gives none.

Compute is in cores x speed, memory in KiB, network bandwidth in Mbit/s, temperature in degrees Celsius. A vnode gets a
share of its host's memory and bandwidth in proportion to its cores; the host's idleness and temperature apply to each
of its vnodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.pbs.server_status_type_and_attributes import Objects
from hooks.telemetry.host_reading_format import Amount, HostReading, parse_reading
from policy.model.jobs_runs_vnodes_queues import Reading, Vnode
from policy.ranking.vnode_reading_minus_later_starts import speed_of
from policy.settings.ranking_and_stripe_settings import RankingSettings

_ATTRIBUTE = f"resources_available.{READING}"
_KIB_OF_A_MIB = 1024


class Readings(NamedTuple):
    """The readings by vnode, and a sentence for each implausible report."""

    of: Mapping[str, Reading]
    problems: tuple[str, ...]


def read_readings(texts: Objects, vnodes: Iterable[Vnode], now_s: float, settings: RankingSettings) -> Readings:
    """The readings of all vnodes. ``texts`` are the vnodes' attributes as the server shows them.

    A reading's time is the MoM's. One that is ahead of the server's clock by more than an interval is rejected, since
    it would never become stale.
    """
    hosts: dict[str, list[Vnode]] = {}
    reported: dict[str, HostReading] = {}
    problems = []
    for vnode in vnodes:
        host = vnode.host or vnode.name
        hosts.setdefault(host, []).append(vnode)
        text = texts.get(vnode.name, {}).get(_ATTRIBUTE, "")
        reading = parse_reading(text) if text else None
        if text and reading is None:
            problems.append(f"vnode {vnode.name}: {_ATTRIBUTE} is {text[:80]!r}, which is no reading")
        elif reading is not None and reading.time_s > now_s + settings.interval_s:
            ahead_s = reading.time_s - now_s
            problems.append(f"vnode {vnode.name}: its clock is {ahead_s:.0f} s ahead of the server's: not believed")
        elif reading is not None and (host not in reported or reading.time_s > reported[host].time_s):
            reported[host] = reading
    found = {}
    for host, reading in reported.items():
        cores = sum(vnode.available.get("ncpus", 0) for vnode in hosts[host])
        for vnode in hosts[host]:
            part = vnode.available.get("ncpus", 0) / cores if cores else 1 / len(hosts[host])
            found[vnode.name] = _divide(reading, vnode, part, now_s)
    return Readings(found, tuple(problems))


def _divide(reading: HostReading, vnode: Vnode, part: float, now_s: float) -> Reading:
    compute_all = vnode.available.get("ncpus", 0) * speed_of(vnode)
    memory = _scale(reading.memory_mib, part * _KIB_OF_A_MIB)
    network = _scale(reading.network_mbit, part)
    return Reading(
        at_s=min(reading.time_s, now_s),
        compute=None if reading.idle is None else reading.idle * compute_all,
        compute_all=None if reading.idle is None else compute_all,
        memory_kib=memory and memory.left,
        memory_all_kib=memory and memory.all,
        network=network and network.left,
        network_all=network and network.all,
        temperature=reading.heat and reading.heat.now,
        temperature_most=reading.heat and reading.heat.most,
    )


def _scale(amount: Amount | None, factor: float) -> Amount | None:
    return None if amount is None else Amount(amount.left * factor, amount.all * factor)
