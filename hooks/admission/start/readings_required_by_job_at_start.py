"""Checks at a start what the job requires of each vnode, by the readings of that moment.

It uses the ranking that a pass decides by (:mod:`policy.ranking.vnode_ranking_and_requirements`; docs/policies.md,
P4), for the job's vnodes alone. PBS's own scheduler does not know these requirements: where it starts the jobs, only
this check enforces them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hooks.pbs.server_status_type_and_attributes import Objects
from hooks.translate.closures.reservation_windows_type import Reservations
from hooks.translate.host_readings_to_vnodes import read_readings
from hooks.translate.job.job_preferences import read_preferences
from hooks.translate.vnodes import read_vnode
from policy.model.job_preferences import Requirements
from policy.model.job_request import Request
from policy.model.jobs_runs_vnodes_queues import Job, Server
from policy.ranking.vnode_ranking_and_requirements import Ranking
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.state.cluster_index import ClusterIndex


def has_requirements(resource_list: Mapping[str, str], settings: RankingSettings) -> bool:
    """Whether the job requires anything of its vnodes beyond room."""
    preference = read_preferences(resource_list, settings).rank
    return preference is not None and preference.needs != Requirements()


def refuse_unmet(
    resource_list: Mapping[str, str],
    texts: Objects,
    consumables: frozenset[str],
    several: Collection[str],
    now_s: float,
    settings: RankingSettings,
) -> str | None:
    """The sentence to refuse a start with; None if each vnode has what the job requires.

    ``texts`` are the attributes of the job's vnodes. Vnodes of the hosts in ``several``, which have more than one, are
    not judged here: the readings of their host are on another vnode.
    """
    preference = read_preferences(resource_list, settings).rank
    if preference is None:
        return None
    unreserved = Reservations({}, {})
    read = [
        read_vnode(name, seen, consumables, {}, unreserved, now_s, lambda _queue, _sentence: None)
        for name, seen in texts.items()
    ]
    vnodes = [vnode for vnode in read if (vnode.host or vnode.name) not in several]
    cluster = ClusterIndex(vnodes, (), (), (), Server(), read_readings(texts, vnodes, now_s, settings).of)
    ranking = Ranking(cluster, settings, now_s)
    everyone = (1 << len(vnodes)) - 1
    if not vnodes or not everyone & ~ranking.compliant(preference):
        return None
    job = Job("", "", Request.of_cores(1), "", now_s, rank=preference)
    return ranking.missing(preference, everyone).sentence(job, now_s)
