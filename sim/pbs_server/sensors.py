"""The simulated hosts' readings, which follow from the jobs that they run.

As real hosts do, each that is up reports once per interval, at its own time, and only when the reading has changed or
would soon be too old. Hosts differ a little, always in the same way.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.telemetry.host_reading_format import Amount, Heat, HostReading, is_due
from policy.model.pbs_units import parse_amount
from policy.settings.ranking_and_stripe_settings import RankingSettings
from sim.pbs_server.objects.moms import USUAL, Use
from sim.pbs_server.objects.vnodes import SimVnode
from sim.pbs_server.server import SimServer

_ATTRIBUTE = f"resources_available.{READING}"
_TICK_S = 1.0
_KIB_OF_A_MIB = 1024
_LINK_MBIT = 25_000
_MBIT_OF_A_CORE = 150
"""Mbit/s that a busy core sends, so that a host full of jobs has little left of its link."""

_SYSTEM_MEMORY_PERCENT = 3
_COOL, _HEAT_OF_LOAD, _HIGHEST = 36.0, 38.0, 95.0


class Sensors:
    """The readings of the hosts of one simulated server; :meth:`start` puts them on its clock."""

    def __init__(self, server: SimServer, settings: RankingSettings) -> None:
        self._server = server
        self._settings = settings
        self._sent: dict[str, HostReading] = {}
        self._group = 0

    def start(self) -> None:
        """Report from now on."""
        self._server.clock.after(_TICK_S, self._tick)

    def _tick(self) -> None:
        """Report for the hosts whose time it is: in one interval each host has one."""
        self._server.clock.after(_TICK_S, self._tick)
        groups = max(1, math.ceil(self._settings.interval_s / _TICK_S))
        for vnode in list(self._server.vnodes.values())[self._group :: groups]:
            if not vnode.down:
                self._report(vnode)
        self._group = (self._group + 1) % groups

    def _report(self, vnode: SimVnode) -> None:
        now_s = self._server.clock.now_s
        reading = read_sensors(vnode, now_s, self._server.moms.use_of)
        interval_s = self._settings.interval_s
        if is_due(reading, self._sent.get(vnode.name), interval_s, self._settings.stale_intervals * interval_s):
            self._sent[vnode.name] = reading
            vnode.change({**vnode.texts, _ATTRIBUTE: reading.show()}, vnode.offline, now_s)


def read_sensors(vnode: SimVnode, now_s: float, use_of: Callable[[str], Use] = lambda _: USUAL) -> HostReading:
    """The reading that a host would report now; ``use_of`` says how much of its cores a job uses."""
    cores = parse_amount(vnode.texts.get("resources_available.ncpus", "0")) or 0
    memory_kib = parse_amount(vnode.texts.get("resources_available.mem", "0")) or 0
    own = zlib.crc32(vnode.name.encode()) % 8
    busy = min(float(cores), sum(held * use_of(job_id).cpu_percent / 100 for job_id, held in vnode.jobs.items()))
    used_kib = vnode.assigned.get("mem", 0) * USUAL.memory_percent + memory_kib * (_SYSTEM_MEMORY_PERCENT + own)
    left_kib = max(0.0, memory_kib - used_kib / 100)
    load = busy / cores if cores else 0.0
    return HostReading(
        now_s,
        1.0 - load,
        Amount(left_kib / _KIB_OF_A_MIB, memory_kib / _KIB_OF_A_MIB) if memory_kib else None,
        Amount(max(0.0, _LINK_MBIT - busy * _MBIT_OF_A_CORE), _LINK_MBIT),
        Heat(_COOL + own + _HEAT_OF_LOAD * load, _HIGHEST),
    )
