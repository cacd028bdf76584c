"""The policy's ranking of vnodes for a rank mode, and the readings of their hosts in words.

A vnode's rank is its place among all vnodes for a job without requirements (docs/policies.md, P4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from hooks.telemetry.host_reading_format import HostReading
from policy.model.job_preferences import RANK_MODES, RankPreference
from policy.model.pbs_units import show_duration
from policy.ranking.vnode_ranking_and_requirements import Ranking
from tui.state.cluster_view import ClusterView

MODES = ("none", *RANK_MODES)


class Ranks(NamedTuple):
    """Vnodes by one mode: their ranks from 1 on; ``score`` is a vnode's dispatch priority, None without a reading."""

    mode: str
    places: Mapping[str, int]
    score: Callable[[str], float | None]


def rank(cluster: ClusterView, mode: str) -> Ranks | None:
    """All vnodes ranked by one mode; None for ``none``, and before there is a plan."""
    if mode == MODES[0] or cluster.decision is None:
        return None
    of_policy = cluster.decision.snapshot.cluster()
    directory = of_policy.capacity.directory
    ranking = Ranking(of_policy, cluster.settings.ranking, cluster.now_s)
    preference = RankPreference(mode)
    everyone = (1 << len(directory.names)) - 1
    names = [directory.names[bit.bit_length() - 1] for bit in ranking.ordered(preference, everyone)]
    places = {name: place for place, name in enumerate(names, start=1)}
    return Ranks(mode, places, lambda name: ranking.standing(preference, name).dispatch_score)


def readings_in_words(readings: Sequence[HostReading], now_s: float) -> list[str]:
    """The readings of the hosts in words; of several hosts the worst value of each."""
    if not readings:
        return ["no readings"]
    parts = []
    heats = [reading.heat for reading in readings if reading.heat is not None]
    if heats:
        hottest = max(heats, key=lambda heat: heat.now)
        parts.append(f"{hottest.now:.0f} °C" + (f" of {hottest.most:.0f}" if hottest.most is not None else ""))
    idle = [reading.idle for reading in readings if reading.idle is not None]
    if idle:
        parts.append(f"processors {min(idle):.0%} idle")
    memory = [reading.memory_mib for reading in readings if reading.memory_mib is not None]
    if memory:
        parts.append(f"{min(amount.left for amount in memory) / 1024:,.0f} GB really free")
    network = [reading.network_mbit for reading in readings if reading.network_mbit is not None]
    if network:
        parts.append(f"{min(amount.left for amount in network):,.0f} Mbit/s free")
    oldest_s = now_s - min(reading.time_s for reading in readings)
    least = "" if len(readings) == 1 else "at least, "
    return [f"read {least}{show_duration(max(0.0, oldest_s))} ago: {', '.join(parts) or 'nothing'}"]
