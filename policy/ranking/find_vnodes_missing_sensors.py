"""Vnodes that report, but not all that the modes in use rank by: they have no sensor for it.

They are ranked by the other quantities of the mode (:mod:`policy.ranking.vnode_ranking_and_requirements`). A virtual
machine, for example, seldom has a temperature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policy.model.job_preferences import RANK_MODES
from policy.ranking.vnode_reading_minus_later_starts import Remaining
from policy.settings.built_in_and_custom_vnode_formulas import QUANTITIES, formulas_with
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.state.cluster_index import ClusterIndex


def find_missing_sensors(cluster: ClusterIndex, settings: RankingSettings, now_s: float) -> Mapping[str, Sequence[str]]:
    """By quantity, the vnodes with a recent reading that does not have it, where a mode of the settings or of a waiting
    job needs it."""
    modes = {job.rank.mode for job in cluster.jobs.values() if job.rank is not None}
    modes.update({settings.mode} & set(RANK_MODES))
    formulas = formulas_with(settings.formulas)
    used = {quantity for mode in modes for quantity in formulas[mode].uses}
    if not used or not cluster.readings:
        return {}
    remaining, directory = Remaining(cluster, settings, now_s), cluster.capacity.directory
    silent = {quantity: remaining.reporting & ~remaining.known[quantity] for quantity in QUANTITIES if quantity in used}
    return {
        quantity: [name for name in directory.names if directory.bits[name] & vnodes]
        for quantity, vnodes in silent.items()
        if vnodes
    }
